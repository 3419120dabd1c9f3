// The environments of a run, live: JPEG pictures onto a canvas, each acknowledged once it is painted.

import { button, el, put } from "../dom";
import { short, steps, whole } from "../format";
import type { Json } from "../live";
import type { Page } from "../page";
import type { Part } from "./run";

export function framesPart(page: Page, run: string): Part {
  let mode: "grid" | "single" = "grid";
  let slot = 0;
  let channel = 0;
  let shown: Json | null = null;
  const times: number[] = [];
  const canvas = el("canvas", { class: "frames" });
  const note = el("p", { class: "muted pad" }, "Waiting for the first picture …");
  const labels = el("div", { class: "labels" });
  const chips = el("div", { class: "chips" });
  const stage = el("div", { class: "frames-stage" }, canvas, labels);
  const all = button("grid", () => look("grid", 0), { class: "chip", hidden: true });
  const element = el("section", { class: "frames-part" }, el("div", { class: "bar" }, chips, el("span", { class: "space" }), all), stage, note);
  stage.hidden = true;

  function look(wanted: "grid" | "single", which: number): void {
    [mode, slot] = [wanted, which];
    all.hidden = mode === "grid";
    if (channel) page.live.close(channel);
    channel = page.live.open("frames", { run, mode, slot, fps: 30, width: mode === "grid" ? 320 : 640 }, {
      json: (message) => {
        note.hidden = !(message.note || message.error);
        put(note, message.error ?? message.note ?? "");
      },
      picture: (head, bytes) => void paint(head, bytes),
    });
  }

  async function paint(head: Json, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const mine = channel;
    try {
      const picture = await createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
      if (mine !== channel) return;
      if (canvas.width !== picture.width || canvas.height !== picture.height) {
        canvas.width = picture.width;
        canvas.height = picture.height;
      }
      canvas.getContext("2d")!.drawImage(picture, 0, 0);
      picture.close();
      stage.hidden = false;
      note.hidden = true;
      tell(head);
    } catch {
      note.hidden = false;
      put(note, "A picture could not be read.");
    } finally {
      // Also of one that could not be read: otherwise no further one comes.
      if (mine === channel) page.live.ack(channel);
    }
  }

  function tell(head: Json): void {
    const now = performance.now();
    times.push(now);
    while (times.length > 1 && now - times[0]! > 2000) times.shift();
    const rate = times.length > 1 ? ((times.length - 1) * 1000) / (now - times[0]!) : 0;
    element.dataset.rate = rate.toFixed(1);
    element.dataset.number = String(head.number);
    element.dataset.painted = String(Number(element.dataset.painted ?? "0") + 1);
    put(
      chips,
      el("span", { class: "chip live" }, el("i", { class: "dot" }), head.evaluation ? "evaluation" : "live"),
      el("span", { class: "chip" }, `${Math.round(rate)} fps`),
      el("span", { class: "chip" }, `step ${whole(head.step)}`),
      el("span", { class: "chip" }, `${steps(Math.round(head.sps))} steps/s`),
      head.line && el("span", { class: "chip" }, head.line),
    );
    const isSame = shown && shown.across === head.across && shown.down === head.down && shown.tiles.length === head.tiles.length;
    shown = head;
    if (!isSame) drawTiles(head);
    (head.tiles as [number, number, number][]).forEach(([env, , value], place) => {
      const label = labels.children[place] as HTMLElement | undefined;
      if (!label) return;
      label.firstElementChild!.textContent = `env ${env}`;
      label.lastElementChild!.textContent = `R ${short(value)}`;
    });
  }

  function drawTiles(head: Json): void {
    labels.style.gridTemplateColumns = `repeat(${head.across}, 1fr)`;
    labels.style.gridTemplateRows = `repeat(${head.down}, 1fr)`;
    put(labels, ...(head.tiles as [number][]).map(([env]) => {
      const tile = el("button", { type: "button", class: "tile", "aria-label": `environment ${env}` }, el("span", {}), el("b", {}));
      tile.addEventListener("click", () => look(mode === "grid" ? "single" : "grid", env));
      return tile;
    }));
  }

  look("grid", 0);
  return { element, close: () => page.live.close(channel) };
}
