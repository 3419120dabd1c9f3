// A chart on a canvas: curves with bands, a cross hair that tells the values, a drag that zooms. Drawn only when
// something has changed, at most once a frame.

import { button, el, put } from "./dom";
import { short, steps as stepText } from "./format";
import type { Points } from "./points";
import { colour, curveColour, onTheme } from "./theme";

export interface Curve {
  name: string;
  colour: number;
  points: Points;
  // A seed of a group that has no band of its own.
  isThin?: boolean;
  // The room between low and high: what the points of a bin are between, or the band of a group.
  isBand?: boolean;
  // Said in the legend: n, and what the band is.
  note?: string;
  // Means over neighbouring points, where the points themselves scatter; drawn instead of the band.
  smooth?: Float64Array | null;
  // Points as they were logged, while a part is looked at.
  detail?: { x: Float64Array; y: Float64Array } | null;
}

interface Range {
  from: number;
  to: number;
}

const LEFT = 54;
const RIGHT = 12;
const TOP = 8;
const BOTTOM = 22;
const LEAST_DRAG = 6;

export class Chart {
  readonly element: HTMLElement;
  // Told when the user looks at a part; null is the whole.
  onZoom: (range: Range | null) => void = () => {};
  private readonly canvas = el("canvas", { class: "plot" });
  // The cross hair has a canvas of its own: to move it draws no curve again.
  private readonly hair = el("canvas", { class: "plot hair" });
  private readonly tip = el("div", { class: "tip", hidden: true });
  private readonly legend = el("div", { class: "legend" });
  private readonly whole: HTMLButtonElement;
  private curves: Curve[] = [];
  private zoom: Range | null = null;
  private hover: number | null = null;
  private drag: { from: number; to: number } | null = null;
  private isWaiting = false;
  private isMoving = false;
  private readonly forget: () => void;
  private readonly observer: ResizeObserver;
  private view = { x: { from: 0, to: 1 }, y: { from: 0, to: 1 }, width: 0, height: 0 };

  constructor(
    title: string,
    private readonly axis = "",
  ) {
    this.whole = button("whole", () => this.show(null), { class: "chip small", hidden: true });
    const head = el("div", { class: "chart-head" }, el("h3", { title }, title), this.whole);
    const stage = el("div", { class: "stage" }, this.canvas, this.hair, this.tip);
    this.element = el("section", { class: "chart", "data-title": title }, head, stage, this.legend);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(stage);
    this.forget = onTheme(() => this.draw());
    this.canvas.addEventListener("pointermove", (event) => this.moved(event));
    this.canvas.addEventListener("pointerleave", () => this.left());
    this.canvas.addEventListener("pointerdown", (event) => this.pressed(event));
    this.canvas.addEventListener("pointerup", () => this.released());
    this.canvas.addEventListener("dblclick", () => this.show(null));
  }

  set(curves: Curve[]): void {
    this.curves = curves;
    this.writeLegend();
    this.draw();
  }

  get points(): number {
    return this.curves.reduce((sum, curve) => sum + curve.points.length, 0);
  }

  show(range: Range | null): void {
    this.zoom = range;
    this.whole.hidden = range === null;
    if (range === null) for (const curve of this.curves) curve.detail = null;
    this.onZoom(range);
    this.draw();
  }

  draw(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.paint();
    });
  }

  close(): void {
    this.observer.disconnect();
    this.forget();
  }

  private writeLegend(): void {
    const named = this.curves.filter((curve) => curve.name && !curve.isThin);
    if (named.length < 2 && !named.some((curve) => curve.note)) {
      put(this.legend);
      return;
    }
    // The only curve of a page needs no name.
    if (named.length === 1 && this.curves.length === 1) return put(this.legend, el("small", {}, named[0]!.note ?? ""));
    const lines = named.map((curve) => {
      const dot = el("i", { class: `dot c${curve.colour % 8}` });
      return el("span", { title: curve.name }, dot, curve.name, curve.note && el("small", {}, curve.note));
    });
    put(this.legend, ...lines);
  }

  paint(): void {
    const stage = this.canvas.parentElement!;
    const width = stage.clientWidth;
    const height = stage.clientHeight;
    if (!width || !height) return;
    const context = cleared(this.canvas, width, height);
    const x = this.zoom ?? this.extentX();
    this.view = { x, y: this.extentY(x), width: width - LEFT - RIGHT, height: height - TOP - BOTTOM };
    this.paintAxes(context);
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP, this.view.width, this.view.height);
    context.clip();
    for (const curve of this.curves) if (curve.isBand) this.paintBand(context, curve);
    for (const curve of this.curves) this.paintLine(context, curve);
    this.paintDrag(context);
    context.restore();
    this.paintHover();
  }

  private extentX(): Range {
    let from = Infinity;
    let to = -Infinity;
    for (const { points } of this.curves) {
      if (!points.length) continue;
      from = Math.min(from, points.x[0]!);
      to = Math.max(to, points.x[points.length - 1]!);
    }
    if (from > to) return { from: 0, to: 1 };
    if (from < 0.1 * to) from = 0;
    return from === to ? { from: from - 0.5, to: to + 0.5 } : { from, to };
  }

  private extentY(x: Range): Range {
    let from = Infinity;
    let to = -Infinity;
    for (const { points, isBand, detail } of this.curves) {
      const first = Math.max(points.at(x.from) - 1, 0);
      const last = Math.min(points.at(x.to) + 1, points.length);
      for (let place = first; place < last; place++) {
        const mean = points.mean[place]!;
        if (mean < from) from = mean;
        if (mean > to) to = mean;
        if (!isBand) continue;
        const low = points.low[place]!;
        const high = points.high[place]!;
        if (low < from) from = low;
        if (high > to) to = high;
      }
      for (const value of detail?.y ?? []) {
        if (value < from) from = value;
        if (value > to) to = value;
      }
    }
    if (from > to) return { from: 0, to: 1 };
    const edge = (to - from) * 0.06 || Math.abs(to) * 0.1 || 0.5;
    return { from: from - edge, to: to + edge };
  }

  private toX(value: number): number {
    const { x, width } = this.view;
    return LEFT + ((value - x.from) / (x.to - x.from)) * width;
  }

  private toY(value: number): number {
    const { y, height } = this.view;
    return TOP + height - ((value - y.from) / (y.to - y.from)) * height;
  }

  private fromX(pixel: number): number {
    const { x, width } = this.view;
    return x.from + ((pixel - LEFT) / width) * (x.to - x.from);
  }

  private paintAxes(context: CanvasRenderingContext2D): void {
    const { x, y, width, height } = this.view;
    context.font = "11px system-ui, sans-serif";
    context.lineWidth = 1;
    context.strokeStyle = colour("grid");
    context.fillStyle = colour("muted");
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const tick of ticks(y, Math.max(2, Math.floor(height / 42)))) {
      const at = Math.round(this.toY(tick.value)) + 0.5;
      context.beginPath();
      context.moveTo(LEFT, at);
      context.lineTo(LEFT + width, at);
      context.stroke();
      context.fillText(tick.text, LEFT - 8, at);
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const tick of ticks(x, Math.max(2, Math.floor(width / 84)))) {
      const at = this.toX(tick.value);
      if (at > LEFT + width - 14 && this.axis) continue;
      context.fillText(tick.text, at, TOP + height + 7);
    }
    if (!this.curves.some((curve) => curve.points.length)) {
      context.textBaseline = "middle";
      context.fillText("nothing logged yet", LEFT + width / 2, TOP + height / 2);
    }
  }

  private paintBand(context: CanvasRenderingContext2D, { points, colour: place }: Curve): void {
    const first = Math.max(points.at(this.view.x.from) - 1, 0);
    const last = Math.min(points.at(this.view.x.to) + 1, points.length);
    context.fillStyle = curveColour(place);
    context.globalAlpha = 0.16;
    let from = first;
    // Where there is no band (too few seeds), the area ends and begins anew.
    for (let at = first; at <= last; at++) {
      if (at < last && !Number.isNaN(points.low[at]!)) continue;
      if (at - from > 1) {
        context.beginPath();
        for (let i = from; i < at; i++) context.lineTo(this.toX(points.x[i]!), this.toY(points.high[i]!));
        for (let i = at - 1; i >= from; i--) context.lineTo(this.toX(points.x[i]!), this.toY(points.low[i]!));
        context.fill();
      }
      from = at + 1;
    }
    context.globalAlpha = 1;
  }

  private paintLine(context: CanvasRenderingContext2D, curve: Curve): void {
    context.strokeStyle = curveColour(curve.colour);
    context.lineJoin = "round";
    const { points, smooth } = curve;
    if (curve.detail) {
      context.globalAlpha = 0.45;
      context.lineWidth = 1;
      context.beginPath();
      for (let at = 0; at < curve.detail.x.length; at++) {
        context.lineTo(this.toX(curve.detail.x[at]!), this.toY(curve.detail.y[at]!));
      }
      context.stroke();
    }
    context.globalAlpha = curve.isThin ? 0.4 : smooth ? (this.curves.length > 4 ? 0.12 : 0.28) : 1;
    context.lineWidth = curve.isThin || smooth ? 1 : 1.8;
    this.trace(context, points, points.mean);
    if (smooth) {
      context.globalAlpha = 1;
      context.lineWidth = 1.9;
      this.trace(context, points, smooth);
    }
    if (points.length === 1) {
      context.fillStyle = curveColour(curve.colour);
      context.beginPath();
      context.arc(this.toX(points.x[0]!), this.toY(points.mean[0]!), 2.5, 0, 7);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  private trace(context: CanvasRenderingContext2D, points: Points, values: Float64Array): void {
    const first = Math.max(points.at(this.view.x.from) - 1, 0);
    const last = Math.min(points.at(this.view.x.to) + 1, points.length);
    context.beginPath();
    let isOpen = false;
    for (let at = first; at < last; at++) {
      const value = values[at]!;
      if (Number.isNaN(value)) {
        isOpen = false;
        continue;
      }
      if (isOpen) context.lineTo(this.toX(points.x[at]!), this.toY(value));
      else context.moveTo(this.toX(points.x[at]!), this.toY(value));
      isOpen = true;
    }
    context.stroke();
  }

  private paintDrag(context: CanvasRenderingContext2D): void {
    if (!this.drag) return;
    context.fillStyle = colour("accent");
    context.globalAlpha = 0.12;
    context.fillRect(this.drag.from, TOP, this.drag.to - this.drag.from, this.view.height);
    context.globalAlpha = 1;
  }

  private paintHover(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement!;
    const context = cleared(this.hair, clientWidth, clientHeight);
    if (this.hover === null || this.drag) {
      this.tip.hidden = true;
      return;
    }
    const x = this.fromX(this.hover);
    const lines: HTMLElement[] = [];
    let shown: number | null = null;
    for (const curve of this.curves) {
      const place = curve.points.nearest(x);
      if (place < 0 || (curve.isThin && this.curves.length > 9)) continue;
      const at = curve.points.x[place]!;
      if (Math.abs(this.toX(at) - this.hover) > 40) continue;
      shown ??= at;
      const value = (curve.smooth ?? curve.points.mean)[place]!;
      if (Number.isNaN(value)) continue;
      context.fillStyle = curveColour(curve.colour);
      context.beginPath();
      context.arc(this.toX(at), this.toY(value), 3, 0, 7);
      context.fill();
      const low = curve.points.low[place]!;
      const high = curve.points.high[place]!;
      const range = curve.isBand && !Number.isNaN(low) && low !== high ? ` ${short(low)} … ${short(high)}` : "";
      const count = curve.points.count?.[place];
      const about = [range, count ? ` n ${count}` : ""].join("");
      const dot = el("i", { class: `dot c${curve.colour % 8}` });
      lines.push(el("div", {}, dot, `${curve.name} `, el("b", {}, short(value)), about && el("small", {}, about)));
    }
    if (shown === null) {
      this.tip.hidden = true;
      return;
    }
    context.strokeStyle = colour("faint");
    context.beginPath();
    context.moveTo(Math.round(this.toX(shown)) + 0.5, TOP);
    context.lineTo(Math.round(this.toX(shown)) + 0.5, TOP + this.view.height);
    context.stroke();
    put(this.tip, el("div", { class: "tip-x" }, `${stepText(Math.round(shown))} ${this.axis}`), ...lines.slice(0, 12));
    this.tip.hidden = false;
    const isRight = this.hover > LEFT + this.view.width / 2;
    const place = isRight ? this.hover - this.tip.offsetWidth - 14 : this.hover + 14;
    this.tip.style.transform = `translate(${Math.max(0, place)}px, ${TOP + 6}px)`;
  }

  private moved(event: PointerEvent): void {
    this.hover = event.offsetX;
    if (this.drag) {
      this.drag.to = Math.min(Math.max(event.offsetX, LEFT), LEFT + this.view.width);
      this.draw();
    } else this.drawHover();
  }

  private left(): void {
    this.hover = null;
    this.drawHover();
  }

  private drawHover(): void {
    if (this.isMoving) return;
    this.isMoving = true;
    requestAnimationFrame(() => {
      this.isMoving = false;
      this.paintHover();
    });
  }

  private pressed(event: PointerEvent): void {
    if (event.pointerType === "touch" || event.offsetX < LEFT) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { from: event.offsetX, to: event.offsetX };
  }

  private released(): void {
    const drag = this.drag;
    this.drag = null;
    if (drag && Math.abs(drag.to - drag.from) > LEAST_DRAG) {
      this.show({ from: this.fromX(Math.min(drag.from, drag.to)), to: this.fromX(Math.max(drag.from, drag.to)) });
    } else this.draw();
  }
}

function cleared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

function ticks({ from, to }: Range, about: number): { value: number; text: string }[] {
  const rough = (to - from) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const found: { value: number; text: string }[] = [];
  const digits = Math.max(0, -Math.floor(Math.log10(step)) + (step / power === 2.5 ? 1 : 0));
  for (let value = Math.ceil(from / step) * step; value <= to + step * 1e-9; value += step) {
    const clean = Math.abs(value) < step * 1e-9 ? 0 : value;
    found.push({ value: clean, text: tickText(clean, digits) });
  }
  return found;
}

function tickText(value: number, digits: number): string {
  if (Math.abs(value) >= 1000) return stepText(value);
  if (value && Math.abs(value) < 1e-4) return value.toExponential(0);
  return value.toFixed(Math.min(digits, 6));
}
