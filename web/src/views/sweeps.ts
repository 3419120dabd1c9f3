// Sweeps, and one of them: its trials on the way, the settings against the value, what fresh seeds confirmed.

import { Chart, type Curve } from "../chart";
import { button, el, link, put, svg } from "../dom";
import { moment, short } from "../format";
import type { Json } from "../live";
import type { Page, View } from "../page";
import { Points } from "../points";
import { get, post, query } from "../request";
import { headCell } from "./settings";

const DRAWN = 60;

export function sweepsView(page: Page, id: string): View {
  let chart: Chart | null = null;
  let isFirst = true;
  const head = el("header", { class: "run-head" });
  const curves = el("div", { class: "charts" });
  const plots = el("div", { class: "plots" });
  const confirmed = el("div", {});
  const trials = el("div", {});
  const list = el("div", { class: "lines" });
  const element = el("main", { class: "sweep-view" }, ...(id ? [head, confirmed, curves, plots, trials] : [el("h1", {}, "Sweeps"), list]));
  const channel = page.live.open("sweeps", { sweep: id }, { json: take });

  function take(message: Json): void {
    if (message.error) return page.say(message.error, "bad");
    if (!id) return drawList(message.sweeps);
    if (message.missing) return put(element, el("div", { class: "nothing" }, el("p", {}, `There is no sweep ${message.missing}.`)));
    const summary = (message.sweeps as Json[]).find((one) => one.sweep === id);
    if (!summary || !message.sweep) return;
    drawHead(summary, message.sweep);
    if (!message.sweep.problem) drawTrials(message.sweep);
  }

  function drawList(sweeps: Json[]): void {
    if (!sweeps.length) return put(list, el("p", { class: "muted pad" }, "No sweeps yet. ", el("code", {}, "mosaic sweep ppo --space learning_rate")));
    const rows = sweeps.map((one) => el("tr", {},
      el("th", { scope: "row" }, link(`/sweep/${one.sweep}`, {}, one.title || one.sweep.slice(-8))),
      el("td", {}, el("span", { class: `state ${phaseClass(one.phase)}` }, el("i", { class: "dot" }), one.phase)),
      el("td", { class: "right" }, `${one.ended} of ${one.trials}`), el("td", { class: "right" }, one.pruned),
      el("td", { class: "right" }, short(one.best)), el("td", {}, moment(one.created))));
    put(list, el("table", {}, el("thead", {}, el("tr", {}, ...["sweep", "phase", "trials", "pruned", "best", "begun"].map(headCell))), el("tbody", {}, ...rows)));
  }

  function drawHead(summary: Json, sweep: Json): void {
    const facts: [string, string][] = [["trials", `${summary.ended} of ${summary.trials}`], ["pruned", String(summary.pruned)], ["failed", String(summary.failed)], ["best", short(summary.best)]];
    if (summary.confirmed[1]) facts.push(["confirmed", `${summary.confirmed[0]} of ${summary.confirmed[1]} runs`]);
    put(
      head,
      el("div", { class: "run-title" }, el("h1", { dir: "auto" }, summary.title || `Sweep ${id.slice(-8)}`),
        el("span", { class: `state ${phaseClass(summary.phase)}` }, el("i", { class: "dot" }), summary.phase), el("span", { class: "space" }),
        ...(page.control ? (summary.verbs as string[]).map((verb) => button(verb, () => {
          post(`/api/sweeps/${id}/${verb}`).then(() => page.say(`${verb}: asked.`), (error: Error) => page.say(error.message, "bad"));
        }, { class: "button" }, verb)) : [])),
      (summary.reason || sweep.problem || summary.damage) && el("p", { class: "muted" }, sweep.problem || summary.damage || summary.reason),
      el("div", { class: "facts" }, ...facts.map(([name, value]) => el("div", {}, el("small", {}, name), el("b", {}, value)))),
    );
    if (isFirst) {
      isFirst = false;
      const wanted = button("Which settings matter?", () => void importance(wanted), { class: "chip" });
      element.insertBefore(el("div", { class: "bar" }, wanted), plots);
    }
  }

  async function importance(wanted: HTMLButtonElement): Promise<void> {
    wanted.disabled = true;
    try {
      const found = Object.entries((await get(`/api/sweeps/${id}/importance`)) as Record<string, number>).sort((a, b) => b[1] - a[1]);
      const bars = found.map(([name, share]) => el("div", { class: "importance" }, el("span", {}, name), el("meter", { value: share, max: 1 }), el("b", {}, `${Math.round(share * 100)} %`)));
      const none = el("span", { class: "muted" }, "Too few trials have ended to say.");
      wanted.parentElement!.replaceChildren(...(bars.length ? bars : [none]));
    } catch (error) {
      page.say((error as Error).message, "bad");
      wanted.disabled = false;
    }
  }

  function drawTrials(sweep: Json): void {
    const isLower = sweep.plan.goal === "minimize";
    const all = sweep.trials as Json[];
    const names = sweep.plan.names as string[];
    const ranked = [...all].sort((a, b) => rank(a, isLower) - rank(b, isLower));
    drawCurves(ranked.slice(0, DRAWN), sweep.plan.metric);
    const known = all.filter((one) => one.value !== null);
    put(plots, ...(known.length > 1 ? names.map((name) => scatter(name, known)) : []));
    const rows = ranked.map((one) => el("tr", { class: one.kind },
      el("th", { scope: "row" }, one.number ? `trial ${one.number}` : "default"),
      el("td", {}, one.state), el("td", { class: "right" }, short(one.value)),
      ...names.map((name) => el("td", { class: "right" }, value(one.params[name]))),
      el("td", {}, one.runs.length === 1 ? link(`/run/${one.runs[0]}`, {}, "run") : one.runs.length ? link(`/compare${query({ run: one.runs, by: "algo,env" })}`, {}, `${one.runs.length} runs`) : "", one.reason && el("small", { class: "bad" }, one.reason))));
    put(trials, el("div", { class: "lines" }, el("h2", {}, "Trials"), el("table", {},
      el("thead", {}, el("tr", {}, ...["trial", "state", "value", ...names, ""].map(headCell))), el("tbody", {}, ...rows))));
    const sure = sweep.confirmed as Json[];
    put(confirmed, sure.length ? el("div", { class: "lines" }, el("h2", {}, "Confirmed with fresh seeds"), el("table", {},
      el("thead", {}, el("tr", {}, ...["settings", "n", "IQM", "better than the default"].map(headCell))),
      el("tbody", {}, ...sure.map((one) => el("tr", {}, el("th", { scope: "row" }, one.trial ? `trial ${one.trial}` : "default"), el("td", { class: "right" }, one.n), el("td", { class: "right" }, one.iqm_text), el("td", { class: "right" }, one.improvement_text || "–")))))) : null);
  }

  function drawCurves(ranked: Json[], metric: string): void {
    const made = ranked.filter((one) => one.reports.length > 1).map((one, place): Curve => {
      const points = new Points();
      const x = Float64Array.from(one.reports, (report: number[]) => report[0]!);
      const y = Float64Array.from(one.reports, (report: number[]) => report[1]!);
      points.take(0, { x, mean: y, low: y, high: y });
      return { name: one.number ? `trial ${one.number}` : "default", colour: place < 5 ? place : 0, points, isThin: place >= 5 };
    });
    if (!chart) {
      chart = new Chart(`${metric}, on the way`, "steps");
      put(curves, chart.element);
    }
    curves.hidden = !made.length;
    chart.set(made.reverse());
  }

  return {
    title: "Sweeps",
    element,
    close() {
      chart?.close();
      page.live.close(channel);
    },
  };
}

function phaseClass(phase: string): string {
  return { exploring: "running", confirming: "running", finished: "finished", failed: "failed", paused: "paused" }[phase] ?? "cancelled";
}

function rank(one: Json, isLower: boolean): number {
  if (one.value === null || !Number.isFinite(one.value)) return Infinity;
  return isLower ? one.value : -one.value;
}

function value(found: unknown): string {
  return typeof found === "number" ? short(found) : found === undefined ? "–" : String(found);
}

// A setting against the value: numbers along a line (of their logarithms where they span decades), words side by side.
function scatter(name: string, trials: Json[]): HTMLElement {
  const given = trials.map((one) => one.params[name]);
  const isNumber = given.every((one) => typeof one === "number");
  const numbers = isNumber ? (given as number[]) : [];
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  const isLog = isNumber && low > 0 && high / low > 50;
  const words = isNumber ? [] : [...new Set(given.map(String))];
  const share = (one: unknown): number => {
    if (!isNumber) return words.length > 1 ? words.indexOf(String(one)) / (words.length - 1) : 0.5;
    const [from, to, at] = isLog ? [Math.log(low), Math.log(high), Math.log(one as number)] : [low, high, one as number];
    return to > from ? (at - from) / (to - from) : 0.5;
  };
  const values = trials.map((one) => one.value as number);
  const bottom = Math.min(...values);
  const span = Math.max(...values) - bottom || 1;
  const dots = trials.map((one) => svg("circle", {
    cx: 10 + share(one.params[name]) * 220, cy: 106 - ((one.value - bottom) / span) * 96, r: 3.2, class: `point ${one.kind === "pruned" ? "faint" : "c0"}`,
  }, svg("title", {}, `${one.number ? `trial ${one.number}` : "default"}: ${value(one.params[name])} → ${short(one.value)}`)));
  const ends = isNumber ? [short(low), `${isLog ? "log scale" : ""}`, short(high)] : words.slice(0, 4);
  return el("figure", { class: "scatter" }, el("figcaption", {}, name), svg("svg", { viewBox: "0 0 240 116" }, ...dots), el("div", { class: "ends" }, ...ends.map((text) => el("small", {}, text))));
}
