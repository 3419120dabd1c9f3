// The log of a run: follows its end; older parts come when the user scrolls up.

import { el, put } from "../dom";
import { clock } from "../format";
import type { Json } from "../live";
import type { Page } from "../page";
import { get, query } from "../request";
import type { Part } from "./run";

const MOST = 20_000;
const TYPED_MS = 300;

type Line = [source: string, level: string, time: number, text: string];

export function logPart(page: Page, run: string): Part {
  let channel = 0;
  let first: number[] = [0, 0, 0];
  let isStart = true;
  let isAsking = false;
  let timer = 0;
  const level = el("select", { "aria-label": "Level" },
    ...[["", "all lines"], ["WARN", "warnings and errors"], ["ERR", "errors"]].map(([value, text]) => el("option", { value }, text)));
  const source = el("select", { "aria-label": "Source" },
    ...[["", "all sources"], ["stdout", "stdout"], ["stderr", "stderr"], ["events", "events"]].map(([value, text]) => el("option", { value }, text)));
  const text = el("input", { type: "search", placeholder: "lines that contain …", "aria-label": "Search the log" });
  const lines = el("div", { class: "log", tabindex: 0, role: "log" });
  const element = el("section", { class: "log-part" }, el("div", { class: "bar" }, text, level, source), lines);

  function anew(): void {
    if (channel) page.live.close(channel);
    put(lines);
    const sources = source.value ? [source.value] : [];
    channel = page.live.open("log", { run, level: level.value, text: text.value, sources }, { json: take });
  }

  function take(message: Json): void {
    if (message.error) return put(lines, el("p", { class: "bad" }, message.error));
    const isAtEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
    if (message.fresh) {
      put(lines);
      first = message.first;
      isStart = message.is_start;
      if (!message.lines.length) put(lines, el("p", { class: "muted pad" }, "No line fits, so far."));
    } else if (lines.firstElementChild?.classList.contains("muted")) put(lines);
    lines.append(...(message.lines as Line[]).map(made));
    while (lines.childElementCount > MOST) lines.firstElementChild!.remove();
    if (isAtEnd || message.fresh) lines.scrollTop = lines.scrollHeight;
  }

  async function older(): Promise<void> {
    if (isStart || isAsking || lines.scrollTop > 200) return;
    isAsking = true;
    const [stdout, stderr, events] = first.map(String);
    const wanted = { stdout, stderr, events, level: level.value, text: text.value, source: source.value };
    try {
      const found = await get(`/api/runs/${run}/log${query(wanted)}`);
      const height = lines.scrollHeight;
      lines.prepend(...(found.lines as Line[]).map(made));
      lines.scrollTop += lines.scrollHeight - height;
      first = found.first;
      isStart = found.is_start;
    } catch (error) {
      page.say((error as Error).message, "bad");
    } finally {
      isAsking = false;
    }
  }

  level.addEventListener("change", anew);
  source.addEventListener("change", anew);
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(anew, TYPED_MS);
  });
  lines.addEventListener("scroll", () => void older(), { passive: true });
  anew();
  return { element, close: () => page.live.close(channel) };
}

function made([source, level, time, text]: Line): HTMLElement {
  return el("div", { class: `line ${level.toLowerCase()}` },
    el("time", {}, clock(time)), el("b", {}, level), el("i", {}, source), el("span", { dir: "auto" }, text));
}
