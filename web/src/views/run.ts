// One run: what it does now, its curves, its environments live, its log, its settings and what it left behind.

import { Curves, type Group, inOrder, smoothing } from "../curves";
import { button, el, icon, link, plain, put } from "../dom";
import { duration, moment, short, steps, whole } from "../format";
import type { Json } from "../live";
import type { Page, View } from "../page";
import { post, query } from "../request";
import { statePill } from "../state";
import { artifactsPart } from "./artifacts";
import { framesPart } from "./frames";
import { logPart } from "./log";
import { settingsPart } from "./settings";

export interface Part {
  element: HTMLElement;
  close(): void;
}

const TABS = ["overview", "log", "settings", "artifacts"] as const;
const SHOWN_TAGS = 24;

export function runView(page: Page, named: string, given: URLSearchParams): View {
  // Its id, once it is known: an address may name a run by its label, or as @last.
  let id = named;
  let tab = TABS.find((one) => one === given.get("tab")) ?? "overview";
  let seeds = given.get("seeds") ?? "";
  let run: Json | null = null;
  let tags: string[] = [];
  let part: Part | null = null;
  let frames: Part | null = null;
  let curves: Curves | null = null;
  let drawn = "";
  let isEditing = false;
  let group: Json[] = [];
  let groupChannel = 0;

  const head = el("header", { class: "run-head" });
  const tabs = el("nav", { class: "tabs", role: "tablist" });
  const body = el("div", { class: "run-body" });
  const element = el("main", { class: "run-view" }, head, tabs, body);
  const channel = page.live.open("run", { run: named }, { json: take });

  function take(message: Json): void {
    if (message.error) {
      put(element, el("div", { class: "nothing" }, el("p", {}, message.error), link("/", { class: "button" }, "All runs")));
      return;
    }
    const isFirst = run === null;
    run = message.run as Json;
    tags = message.tags;
    if (id !== run.run_id) {
      id = run.run_id as string;
      keepAddress();
    }
    if (isFirst && run.group) listenToGroup(run.group);
    document.title = plain(`${run.label || run.run_id} · MOSAIC`);
    drawHead();
    drawBody();
  }

  // The runs of the same submit: the other seeds.
  function listenToGroup(name: string): void {
    groupChannel = page.live.open("table", { filter: `group:${name}`, columns: ["label", "seed"], sort: "seed", first: 0, rows: 100 }, {
      json(message) {
        const before = group.length;
        group = message.rows ?? [];
        if (group.length !== before) {
          drawn = "";
          drawBody();
        }
      },
    });
  }

  function drawHead(): void {
    if (!run || isEditing) return;
    const facts: [string, string][] = [
      ["return", run.last_return === null ? "–" : short(run.last_return)],
      ["best", run.best_return === null ? "–" : short(run.best_return)],
      ["steps", run.total_timesteps ? `${whole(run.global_step)} of ${steps(run.total_timesteps)}` : whole(run.global_step)],
    ];
    if (run.live && run.steps_per_s) facts.push(["steps/s", whole(run.steps_per_s)]);
    if (run.live && run.eta_s !== null) facts.push(["to go", duration(run.eta_s)]);
    if (run.started_at && run.ended_at) facts.push(["took", duration(run.ended_at - run.started_at)]);
    facts.push(["submitted", moment(run.submitted_at)]);
    const title = el("h1", { dir: "auto" }, run.label || run.run_id);
    put(
      head,
      el(
        "div", { class: "run-title" },
        link("/", { class: "tool", "aria-label": "All runs" }, icon("back")),
        title, statePill(run.state),
        page.control && button("", edit, { class: "tool", "aria-label": "Change label, notes and tags" }, "label"),
        el("span", { class: "space" }),
        ...controls(),
      ),
      el(
        "p", { class: "run-about" },
        el("b", {}, run.algo), " in ", el("b", {}, run.env_id), ` · seed ${run.seed}`,
        ...(run.tags as string[]).map((tag) => el("i", { class: "tag" }, tag)),
        el("code", {}, run.run_id),
      ),
      run.reason && el("p", { class: run.state === "failed" || run.state === "lost" ? "bad" : "muted", dir: "auto" }, run.reason),
      run.damage && el("p", { class: "bad" }, run.damage),
      ...(run.warnings as string[]).map((text) => el("p", { class: "warn" }, icon("warn"), text)),
      run.notes && el("p", { class: "notes", dir: "auto" }, run.notes),
      el("div", { class: "facts" }, ...facts.map(([name, value]) => el("div", { "data-fact": name }, el("small", {}, name), el("b", {}, value)))),
      run.live && run.done !== null && el("progress", { max: 1, value: run.done }),
      run.stderr_tail.length > 0 && el("pre", { class: "stderr" }, (run.stderr_tail as string[]).join("\n")),
    );
    put(tabs, ...TABS.map((one) =>
      button(one, () => choose(one), { class: one === tab ? "tab chosen" : "tab", role: "tab", "aria-selected": String(one === tab) })));
  }

  function controls(): HTMLElement[] {
    if (!page.control || !run) return [];
    return (run.verbs as string[]).map((verb) =>
      button(verb, () => void act(verb), { class: verb === "cancel" ? "button danger" : "button", "data-verb": verb }, verb));
  }

  async function act(verb: string): Promise<void> {
    try {
      await post(`/api/runs/${id}/${verb}`);
      page.say(verb === "cancel" ? "The run saves a checkpoint and ends." : `${verb}: asked.`);
    } catch (error) {
      page.say((error as Error).message, "bad");
    }
  }

  function edit(): void {
    if (!run) return;
    isEditing = true;
    const label = el("input", { value: run.label, name: "label", maxlength: 200 });
    const words = el("input", { value: (run.tags as string[]).join(", "), name: "tags" });
    const notes = el("textarea", { name: "notes", rows: 3 }, run.notes);
    const done = () => {
      isEditing = false;
      drawHead();
    };
    const form = el(
      "form", { class: "edit" },
      el("label", {}, "Label", label), el("label", {}, "Tags", words), el("label", {}, "Notes", notes),
      el("div", { class: "bar" }, el("button", { class: "button primary" }, "Save"), button("Leave", done, { class: "button" })),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      post(`/api/runs/${id}/label`, { label: label.value, tags: words.value, notes: notes.value })
        .then(() => page.say("Saved."), (error: Error) => page.say(error.message, "bad"))
        .finally(done);
    });
    put(head, form);
    label.focus();
  }

  function choose(one: (typeof TABS)[number]): void {
    tab = one;
    keepAddress();
    drawHead();
    drawBody();
  }

  function keepAddress(): void {
    page.go(`/run/${id}${query({ tab: tab === "overview" ? "" : tab, seeds })}`, "replace");
  }

  function drawBody(): void {
    if (!run) return;
    const ready = inOrder(tags).slice(0, SHOWN_TAGS);
    const now = tab === "overview" ? `overview ${seeds} ${group.length} ${ready.join()} ${run.live}` : tab;
    if (now === drawn) return;
    drawn = now;
    closeParts(tab === "overview");
    if (tab === "overview") overview(ready);
    else {
      const isLive = run.live as boolean;
      part = tab === "log" ? logPart(page, id) : tab === "settings" ? settingsPart(id) : artifactsPart(id, isLive);
      put(body, part.element);
    }
  }

  function overview(ready: string[]): void {
    const shown: Node[] = [];
    // The picture stays where it is while charts come and go: its worker needs a moment for the first one.
    if (run!.live && run!.kind !== "play") frames ??= framesPart(page, id);
    else {
      frames?.close();
      frames = null;
    }
    if (ready.length) shown.push(seedsBar());
    const first = el("div", { class: frames ? "overview watched" : "overview" }, frames?.element);
    shown.push(first);
    const names = Object.fromEntries(group.map((row) => [row.run, `seed ${row.cells[1]}`]));
    const groups: Group[] = seeds && group.length > 1
      ? [{ name: `${group.length} seeds`, runs: group.map((row) => row.run as string) }]
      : [{ name: run!.label || `seed ${run!.seed}`, runs: [id] }];
    if (ready.length) {
      curves = new Curves(page.live, ready, groups, seeds === "IQM" ? "IQM" : seeds === "each" ? "each" : "mean", names);
      first.append(curves.element);
    } else shown.push(el("p", { class: "muted pad" }, run!.live ? "Nothing has been logged yet." : "This run has logged no metrics."));
    put(body, ...shown);
  }

  function seedsBar(): HTMLElement {
    const choices: [string, string][] = [["", "this seed"], ["each", "each seed"], ["mean", "mean ± std"], ["IQM", "IQM, 95 % CI"]];
    return el("div", { class: "bar seeds" }, smoothing(() => curves?.redraw()), ...(group.length > 1 ? choices : []).map(([value, text]) =>
      button(text, () => {
        seeds = value;
        keepAddress();
        drawBody();
      }, { class: value === seeds ? "chip chosen" : "chip" })));
  }

  function closeParts(keepsFrames: boolean): void {
    part?.close();
    curves?.close();
    part = curves = null;
    if (keepsFrames) return;
    frames?.close();
    frames = null;
  }

  return {
    title: "Run",
    element,
    close() {
      closeParts(false);
      page.live.close(channel);
      if (groupChannel) page.live.close(groupChannel);
    },
  };
}
