// Charts of some tags over some groups of runs: opens one channel, hands each message to the chart of its tag.

import { Chart, type Curve } from "./chart";
import { button, el, put } from "./dom";
import { steps, tagTitle } from "./format";
import { type Json, type Live, unpacked } from "./live";
import { Points } from "./points";
import { binary, query } from "./request";

export interface Group {
  name: string;
  runs: string[];
}

const DETAIL_MS = 120;
// Curves of so many points scatter enough to be smoothed, over such a share of them.
const SMOOTHED = 80;
const WINDOW = 1 / 40;
const NOT_SMOOTHED = new Set(["charts/learning_rate", "charts/SPS"]);
let isSmooth = true;

export class Curves {
  readonly element = el("div", { class: "charts" });
  private readonly charts = new Map<string, Chart>();
  private readonly lines = new Map<string, Map<string, Curve>>();
  private readonly timers = new Map<string, number>();
  private readonly about = new Map<Curve, Json>();
  private readonly first: string;
  private channel = 0;

  constructor(
    private readonly live: Live,
    tags: string[],
    private readonly groups: Group[],
    private readonly middle: "mean" | "IQM" | "each",
    // Seeds of a single group have colours of their own.
    private readonly names: Record<string, string> = {},
  ) {
    this.first = tags[0] ?? "";
    for (const tag of tags) {
      const chart = new Chart(tagTitle(tag), "steps");
      chart.element.title = "";
      chart.onZoom = (range) => this.look(tag, range);
      this.charts.set(tag, chart);
      this.lines.set(tag, new Map());
    }
    put(this.element, ...[...this.charts.values()].map((chart) => chart.element));
    this.channel = live.open("curves", { tags, groups, middle }, {
      columns: (head, columns) => this.take(head, columns),
      json: (message) => this.tell(message),
    });
  }

  redraw(): void {
    for (const tag of this.lines.keys()) this.show(tag);
  }

  close(): void {
    this.live.close(this.channel);
    for (const chart of this.charts.values()) chart.close();
  }

  private tell(message: Json): void {
    if (message.error) put(this.element, el("p", { class: "bad" }, message.error));
    if (message.whole) this.element.dataset.whole = "1";
  }

  private take(head: Json, columns: Record<string, Float64Array>): void {
    if (head.tag === this.first) this.element.dataset.rows = String(head.rows ?? 0);
    const lines = this.lines.get(head.tag);
    if (!lines) return;
    const place = head.group as number;
    const group = this.groups[place];
    if (!group) return;
    const key = head.kind === "group" ? `group ${place}` : ofRun(place, head.run);
    let curve = lines.get(key);
    if (!curve) {
      curve = { name: "", colour: place, points: new Points() };
      lines.set(key, curve);
    }
    if (head.kind === "group") {
      curve.name = group.name;
      const hasBand = head.trust !== "none";
      curve.isBand = hasBand;
      const band = hasBand ? `${head.band}${head.trust === "rough" ? " (rough)" : ""}` : "no band below 5 seeds";
      const binned = head.width > 1 ? `, means of ${steps(head.width)} steps` : "";
      curve.note = `${head.middle} of ${head.seeds} seeds, ${band}${binned}`;
      curve.points.take(0, columns);
    } else {
      const isOne = group.runs.length === 1;
      curve.name = isOne ? group.name : (this.names[head.run] ?? `seed ${group.runs.indexOf(head.run) + 1}`);
      curve.isThin = !isOne && this.middle !== "each";
      if (this.middle === "each" && this.groups.length === 1) curve.colour = group.runs.indexOf(head.run);
      curve.isBand = isOne && this.groups.length === 1;
      this.about.set(curve, head);
      curve.points.take(head.from, columns);
    }
    this.show(head.tag);
  }

  private show(tag: string): void {
    const lines = this.lines.get(tag);
    if (!lines) return;
    for (const [key, curve] of lines) {
      const isScattered = !key.startsWith("group") && curve.points.length >= SMOOTHED && !NOT_SMOOTHED.has(tag);
      const window = Math.round(curve.points.length * WINDOW);
      curve.smooth = isSmooth && isScattered && !curve.isThin ? curve.points.smoothed(window) : null;
      if (curve.isBand && !key.startsWith("group")) curve.note = said(curve, this.about.get(curve), window);
    }
    const curves = [...lines.values()].sort((a, b) => Number(b.isThin ?? false) - Number(a.isThin ?? false));
    this.charts.get(tag)?.set(curves);
  }

  // A part of a curve of one run, as it was logged.
  private look(tag: string, range: { from: number; to: number } | null): void {
    clearTimeout(this.timers.get(tag));
    if (!range) return;
    const wanted = async () => {
      for (const [place, group] of this.groups.entries()) {
        if (group.runs.length !== 1) continue;
        const run = group.runs[0]!;
        const curve = this.lines.get(tag)?.get(ofRun(place, run));
        if (!curve) continue;
        const from = String(Math.max(0, Math.floor(range.from)));
        const to = String(Math.max(1, Math.ceil(range.to)));
        try {
          const found = unpacked(await binary(`/api/runs/${run}/points${query({ tag, from, to })}`));
          curve.detail = { x: found.columns!.x!, y: found.columns!.y! };
        } catch {
          curve.detail = null; // The daemon is away: the means stay.
        }
        this.charts.get(tag)?.draw();
      }
    };
    this.timers.set(tag, setTimeout(() => void wanted(), DETAIL_MS));
  }
}

// A run may stand in several groups, and has a line in each.
const ofRun = (place: number, run: string): string => `run ${run} of ${place}`;

// What the points are, and what the line is.
function said(curve: Curve, head: Json | undefined, window: number): string {
  const parts: string[] = [];
  if (head && head.width > 1) parts.push(`range of each ${steps(head.width)} steps`);
  if (curve.smooth) parts.push(`mean over ${steps(window * (head?.width ?? 1))} steps`);
  else if (head && head.width > 1) parts[0] = `mean and ${parts[0]}`;
  if (head?.not_finite) parts.push(`${head.not_finite} values are not finite`);
  return parts.join(", ");
}

// The switch above the charts; holds for all of them.
export function smoothing(redraw: () => void): HTMLButtonElement {
  const made = button("smooth", () => {
    isSmooth = !isSmooth;
    made.classList.toggle("chosen", isSmooth);
    redraw();
  }, { class: isSmooth ? "chip chosen" : "chip" });
  return made;
}

// The returns first, then what is looked at most often.
const FIRST = ["charts/episodic_return", "eval/episodic_return", "charts/episodic_length", "charts/SPS"];

export function inOrder(tags: string[]): string[] {
  const rank = (tag: string) => (FIRST.includes(tag) ? FIRST.indexOf(tag) : FIRST.length);
  return [...tags].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}
