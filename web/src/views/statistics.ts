// Statistics of groups of runs, as `mosaic stats` makes them: intervals with their n, and none below five seeds.

import { el, put, svg } from "../dom";
import { short } from "../format";
import type { Json } from "../live";
import type { Page, View } from "../page";
import { get, query } from "../request";
import { headCell } from "./settings";

const BY: [string, string][] = [["algo,env", "by algorithm and environment"], ["", "one group a word"], ["group", "by submit"], ["label", "by label"], ["algo", "by algorithm, environments as tasks"]];

export function statisticsView(page: Page, given: URLSearchParams): View {
  const words = el("input", { value: given.getAll("group").join(" "), placeholder: "ppo dqn, a label, an id, NAME=ppo,dqn …", "aria-label": "Groups", spellcheck: "false" });
  const by = el("select", { "aria-label": "By" }, ...BY.map(([value, text]) => el("option", { value, selected: value === (given.get("by") ?? "algo,env") }, text)));
  const evaluations = el("input", { type: "checkbox", checked: given.get("evaluations") !== null });
  const leaveOut = el("input", { type: "checkbox", checked: given.get("leave-out") !== null });
  const answer = el("div", {});
  const form = el(
    "form", { class: "bar" },
    el("label", { class: "search" }, words), by,
    el("label", { class: "switch" }, evaluations, "evaluations"),
    el("label", { class: "switch", title: "Count the other runs where some have not finished or have no return." }, leaveOut, "leave out"),
    el("button", { class: "button primary" }, "Compute"),
  );
  const element = el("main", { class: "statistics-view" }, el("h1", {}, "Statistics of groups"), form, answer);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void compute();
  });

  async function compute(): Promise<void> {
    const group = words.value.split(/\s+/).filter(Boolean);
    const asked = { group, by: by.value, evaluations: evaluations.checked ? "1" : "", "leave-out": leaveOut.checked ? "1" : "" };
    page.go(`/statistics${query(asked)}`, "replace");
    if (!group.length) return put(answer, el("p", { class: "muted pad" }, "Name groups: algorithms, environments, labels, or ids of runs."));
    put(answer, el("p", { class: "muted pad" }, "Computing …"));
    try {
      draw(await get(`/api/statistics${query(asked)}`));
    } catch (error) {
      put(answer, el("p", { class: "bad pad" }, (error as Error).message));
    }
  }

  function draw(found: Json[]): void {
    const lines = found.filter((one) => one.kind === "scores");
    const overall = found.filter((one) => one.kind === "overall");
    put(answer, scores(lines), overall.length ? over(overall) : null,
      el("p", { class: "muted" }, "Intervals are 95 %. Below five runs there is none; below ten it is rough."));
  }

  if (given.getAll("group").length) void compute();
  else put(answer, el("p", { class: "muted pad" }, "Name groups: algorithms, environments, labels, or ids of runs. A run stands for all seeds of its submit."));
  return { title: "Statistics", element, close: () => {} };
}

function scores(lines: Json[]): HTMLElement {
  const scale = extent(lines.flatMap((line) => [...line.scores, line.iqm.low, line.iqm.high]));
  const rows = lines.map((line, place) =>
    el("tr", {},
      el("th", { scope: "row" }, line.group), el("td", {}, line.env_id), el("td", { class: "right" }, line.n),
      el("td", { class: "right" }, interval(line.iqm, line.remark)), el("td", { class: "right" }, interval(line.mean, line.remark)),
      el("td", { class: "wide" }, dots(line, scale, place)),
      el("td", { class: "right" }, line.probability_of_improvement ? interval(line.probability_of_improvement, "") : "–"),
      el("td", { class: "right" }, line.seeds_needed ?? "–")));
  return el("div", { class: "lines" }, el("table", {},
    el("thead", {}, el("tr", {}, ...["group", "environment", "n", "IQM", "mean", "every run, IQM and interval", `better than ${lines[0]?.group ?? "the first"}`, "seeds needed"].map(headCell))),
    el("tbody", {}, ...rows)));
}

function over(lines: Json[]): HTMLElement {
  const rows = lines.map((line) => el("tr", {}, el("th", { scope: "row" }, line.group), el("td", { class: "right" }, line.n),
    ...["iqm", "median", "mean", "optimality_gap"].map((name) => el("td", { class: "right" }, interval(line[name], line.remark)))));
  return el("div", { class: "lines" }, el("h2", {}, "Over all environments, normalised"), el("table", {},
    el("thead", {}, el("tr", {}, ...["group", "n", "IQM", "median", "mean", "optimality gap"].map(headCell))), el("tbody", {}, ...rows)));
}

function interval(found: Json, remark: string): string {
  const limits = found.low === null || found.high === null ? "" : ` [${short(found.low)}, ${short(found.high)}]`;
  return `${short(found.value)}${limits}${remark ? ` ${remark}` : ""}`;
}

function extent(values: (number | null)[]): [number, number] {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
  const low = Math.min(...known);
  const high = Math.max(...known);
  return low < high ? [low, high] : [low - 1, high + 1];
}

function dots(line: Json, [low, high]: [number, number], place: number): SVGElement {
  const at = (value: number) => 6 + ((value - low) / (high - low)) * 228;
  const parts: SVGElement[] = [svg("line", { x1: 6, x2: 234, y1: 12, y2: 12, class: "axis" })];
  if (line.iqm.low !== null && line.iqm.high !== null) {
    parts.push(svg("line", { x1: at(line.iqm.low), x2: at(line.iqm.high), y1: 12, y2: 12, class: `interval c${place % 8}` }));
  }
  for (const score of line.scores as number[]) parts.push(svg("circle", { cx: at(score), cy: 12, r: 2.5, class: `point c${place % 8}` }));
  parts.push(svg("rect", { x: at(line.iqm.value) - 1.5, y: 4, width: 3, height: 16, class: `middle c${place % 8}` }));
  return svg("svg", { viewBox: "0 0 240 24", class: "dots", role: "img", "aria-label": `scores of ${line.group}` }, ...parts);
}
