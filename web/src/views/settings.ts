// Settings of a run beside their defaults, and the same table for several runs.

import { el, link, put } from "../dom";
import type { Json } from "../live";
import { get } from "../request";
import type { Part } from "./run";

export function settingsPart(run: string): Part {
  const element = el("section", { class: "settings" }, el("p", { class: "muted pad" }, "Reading …"));
  get(`/api/runs/${run}/settings`).then(
    (found) => put(element, linesTable(found, true)),
    (error: Error) => put(element, el("p", { class: "bad pad" }, error.message)),
  );
  return { element, close: () => {} };
}

export function linesTable(found: Json, everything: boolean): HTMLElement {
  const lines = (found.lines as Json[]).filter((line) => everything || line.differs || line.section === "results");
  const isOne = found.runs.length === 1;
  const rows: HTMLElement[] = [];
  let section = "";
  for (const line of lines) {
    if (line.section !== section) {
      section = line.section;
      rows.push(el("tr", { class: "section" }, el("th", { colspan: found.runs.length + 2 }, section)));
    }
    const cells = (line.cells as string[]).map((cell, place) =>
      el("td", { class: line.changed[place] ? "changed" : "", dir: "auto" }, cell || "–"));
    const isChanged = (line.changed as boolean[]).some(Boolean);
    rows.push(el("tr", { class: line.differs ? "differs" : "" },
      el("th", { scope: "row" }, line.name), ...cells, el("td", { class: "default" }, isChanged ? line.default : "")));
  }
  const heads = (found.runs as Json[]).map((run) => el("th", { dir: "auto" }, link(`/run/${run.run}`, {}, run.name)));
  return el("div", { class: "lines" }, el("table", {},
    el("thead", {}, el("tr", {}, el("th", {}), ...(isOne ? [el("th", {}, "value")] : heads), el("th", {}, "default"))),
    el("tbody", {}, ...rows)));
}

// Numbers stand at the right, and so do their headings.
const WORDS = new Set(["group", "environment", "every run, IQM and interval", "sweep", "phase", "begun", "trial", "state", "settings"]);

export function headCell(text: string): HTMLElement {
  return el("th", { class: WORDS.has(text) ? "" : "right" }, text);
}
