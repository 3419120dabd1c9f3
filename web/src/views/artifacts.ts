// What a run left behind: films are played here, pictures shown, everything else is a download.

import { button, el, icon, put } from "../dom";
import { bytes, whole } from "../format";
import type { Json } from "../live";
import { binary, get, query } from "../request";
import type { Part } from "./run";

const MOST_TEXT = 256 * 1024;
const TEXTS = /\.(py|asl|json|jsonl|log|txt|ya?ml|md|csv)$/;
const TITLES: Record<string, string> = {
  policy: "Policy", checkpoint: "Checkpoints", video: "Videos", eval_summary: "Evaluation", script: "Script",
  plans: "Plans", tensorboard: "TensorBoard", wandb: "Weights & Biases", config: "Config", log: "Logs", events: "Logs",
};

export function artifactsPart(run: string, isLive: boolean): Part {
  const element = el("section", { class: "artifacts" });

  async function look(): Promise<void> {
    try {
      draw(await get(`/api/runs/${run}/artifacts`));
    } catch (error) {
      put(element, el("p", { class: "bad pad" }, (error as Error).message));
    }
  }

  function draw(found: Json): void {
    const kinds = new Map<string, Json[]>();
    for (const one of found.artifacts as Json[]) {
      const title = TITLES[one.kind] ?? one.kind;
      kinds.set(title, [...(kinds.get(title) ?? []), one]);
    }
    const order = [...new Set(Object.values(TITLES))];
    const place = (title: string) => (order.includes(title) ? order.indexOf(title) : order.length);
    const sections = [...kinds].sort(([a], [b]) => place(a) - place(b)).map(([title, list]) =>
      el("div", { class: "kind" }, el("h3", {}, title), el("div", { class: title === "Videos" ? "films" : "files" }, ...list.map((one) => shown(one)))));
    const rest = found.files as Json[];
    put(
      element,
      el("div", { class: "bar" }, isLive && button("Look again", () => void look(), { class: "button" }, "resume")),
      found.damage && el("p", { class: "bad" }, found.damage),
      ...sections,
      el("details", {}, el("summary", {}, `all ${rest.length} files`), el("div", { class: "files" }, ...rest.map((one) => shown({ ...one, is_file: true, label: "", kind: "" })))),
    );
  }

  function address(path: string, download = false): string {
    return `/api/runs/${run}/file${query({ path, download: download ? "1" : "" })}`;
  }

  function shown(one: Json): HTMLElement {
    const name = (one.path as string).split("/").at(-1) ?? one.path;
    const about = [one.step !== null && one.step !== undefined && `step ${whole(one.step)}`, one.label, one.bytes ? bytes(one.bytes) : ""].filter(Boolean).join(" · ");
    if (one.kind === "video" && one.is_file && (one.shown as string).startsWith("video/")) {
      const film = el("video", { src: address(one.path), controls: true, preload: "metadata", loop: true });
      film.muted = true;
      return el("figure", {}, film, el("figcaption", {}, name, el("small", {}, about)));
    }
    const text = TEXTS.test(one.path) && one.is_file;
    const preview = el("pre", { class: "preview", hidden: true, dir: "auto" });
    const read = async () => {
      preview.hidden = !preview.hidden;
      if (preview.hidden || preview.textContent) return;
      try {
        const data = await binary(address(one.path));
        const shownText = new TextDecoder().decode(data.slice(0, MOST_TEXT));
        put(preview, shownText, data.byteLength > MOST_TEXT ? "\n… the rest is in the download" : "");
      } catch (error) {
        put(preview, (error as Error).message);
      }
    };
    const picture = (one.shown as string).startsWith("image/") && one.is_file && el("img", { src: address(one.path), alt: name, loading: "lazy" });
    return el(
      "div", { class: "file" },
      el("div", { class: "file-line" }, icon("file"), el("span", { class: "path", title: one.path, dir: "auto" }, one.kind ? name : one.path), el("small", {}, about),
        text && one.bytes < 4 * 2 ** 20 && button("read", () => void read(), { class: "chip" }),
        one.is_file && el("a", { class: "tool", href: address(one.path, true), download: name, "aria-label": `Download ${name}` }, icon("download"))),
      picture, preview,
    );
  }

  void look();
  return { element, close: () => {} };
}
