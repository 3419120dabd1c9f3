// Runs side by side: their curves, one by one or as groups of seeds, and what differs between them.

import { Curves, type Group, inOrder, smoothing } from "../curves";
import { button, el, put } from "../dom";
import type { Json } from "../live";
import type { Page, View } from "../page";
import { get, query } from "../request";
import { linesTable } from "./settings";

const MOST_TABLE = 12;
const MOST_RUNS = 100;
const TAGS = 8;

export function compareView(page: Page, given: URLSearchParams): View {
  const runs = given.getAll("run").slice(0, MOST_RUNS);
  let by = given.get("by") ?? "";
  let middle = (given.get("middle") ?? (by ? "mean" : "each")) as "mean" | "IQM" | "each";
  let everything = false;
  let rows: Json[] = [];
  let tags: string[] = [];
  let curves: Curves | null = null;
  let found: Json | null = null;
  const bar = el("div", { class: "bar" });
  const charts = el("div", {});
  const table = el("div", {});
  const element = el("main", { class: "compare-view" }, el("h1", {}, `${runs.length} runs side by side`), bar, charts, table);
  const channels: number[] = [];

  if (!runs.length) put(element, el("div", { class: "nothing" }, el("p", {}, "Select runs in the table, then Compare.")));
  else {
    const asked = { filter: `run:${runs.join(",")}`, columns: ["label", "group", "algo", "env", "seed", "tags"], first: 0, rows: MOST_RUNS };
    channels.push(page.live.open("table", asked, {
      json(message) {
        if (message.error || message.problem) return page.say(String(message.error ?? message.problem), "bad");
        const before = rows.length;
        rows = message.rows;
        if (rows.length !== before) draw();
      },
    }));
    channels.push(page.live.open("run", { run: runs[0] }, {
      json(message) {
        const now = inOrder(message.tags ?? []).slice(0, TAGS);
        if (now.join() !== tags.join()) {
          tags = now;
          draw();
        }
      },
    }));
    const listed = runs.slice(0, MOST_TABLE);
    get(`/api/compare${query({ run: listed })}`).then(
      (answer) => {
        found = answer;
        drawTable();
      },
      (error: Error) => put(table, el("p", { class: "bad" }, error.message)),
    );
  }

  function groups(): Group[] {
    const order = new Map(runs.map((run, place) => [run, place]));
    const sorted = [...rows].sort((a, b) => (order.get(a.run) ?? 0) - (order.get(b.run) ?? 0));
    if (!by) return sorted.map((row) => ({ name: row.cells[0] || row.run.slice(-8), runs: [row.run] }));
    const places: Record<string, number> = { label: 0, group: 1, algo: 2, env: 3, seed: 4, tags: 5 };
    const made = new Map<string, Group>();
    for (const row of sorted) {
      const key = by.split(",").map((name) => row.cells[places[name] ?? 2] || row.run.slice(-8)).join(" · ");
      const label = String(row.cells[0]).replace(/[ ,·-]*(s|seed)? ?\d+$/, "");
      const group: Group = made.get(key) ?? { name: (by === "group" && label) || key, runs: [] };
      group.runs.push(row.run);
      made.set(key, group);
    }
    return [...made.values()];
  }

  function draw(): void {
    const choices: [string, string, "mean" | "IQM" | "each"][] = [
      ["", "each run", "each"],
      ["group", "seeds of a submit", "mean"],
      ["algo,env", "algorithm and environment", "mean"],
    ];
    put(
      bar,
      ...choices.map(([value, text, how]) => button(text, () => set(value, how), { class: value === by ? "chip chosen" : "chip" })),
      el("span", { class: "space" }),
      smoothing(() => curves?.redraw()),
      ...(by ? (["mean", "IQM", "each"] as const).map((one) => button(one, () => set(by, one), { class: one === middle ? "chip chosen" : "chip" })) : []),
    );
    curves?.close();
    curves = null;
    if (!rows.length || !tags.length) return put(charts, el("p", { class: "muted pad" }, "Nothing has been logged yet."));
    curves = new Curves(page.live, tags, groups(), middle);
    put(charts, curves.element);
  }

  function set(value: string, how: "mean" | "IQM" | "each"): void {
    [by, middle] = [value, how];
    page.go(`/compare${query({ run: runs, by, middle: how })}`, "replace");
    draw();
  }

  function drawTable(): void {
    if (!found) return;
    put(
      table,
      el("div", { class: "bar" },
        el("h2", {}, runs.length > MOST_TABLE ? `Differences of the first ${MOST_TABLE}` : "Differences"),
        button(everything ? "only what differs" : "everything", () => {
          everything = !everything;
          drawTable();
        }, { class: "chip" })),
      linesTable(found, everything),
    );
  }

  return {
    title: "Compare",
    element,
    close() {
      curves?.close();
      for (const channel of channels) page.live.close(channel);
    },
  };
}
