// Elements made of names, properties and text nodes: no text ever becomes markup.

export type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

// As mosaic.plain_text has it for terminals: colours are left out; other control characters, marks of direction and letters
// without a picture, by which a text looks like another, become visible.
const COLOURS = /\x1b\[[0-?]*[ -/]*[@-~]/g;
const HIDDEN =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Surrogate}]/gu;
// Attributes that are text which others may have written. A field keeps what it is given: it is sent back.
const SHOWN = new Set(["title", "aria-label", "alt"]);

export function plain(text: string): string {
  return text.replace(COLOURS, "").replace(HIDDEN, (found) => {
    const code = found.codePointAt(0)!;
    const digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    return `\\${digits === 2 ? "x" : digits === 4 ? "u" : "U"}${code.toString(16).padStart(digits, "0")}`;
  });
}

const SVG = "http://www.w3.org/2000/svg";

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  dress(made, attributes);
  add(made, children);
  return made;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const made = document.createElementNS(SVG, tag);
  dress(made, attributes);
  add(made, children);
  return made;
}

export function put(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  add(parent, children);
}

function add(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) parent.append(child);
    else parent.append(document.createTextNode(parent instanceof HTMLTextAreaElement ? String(child) : plain(String(child))));
  }
}

function dress(made: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value as unknown as EventListener);
    else made.setAttribute(name, value === true ? "" : SHOWN.has(name) ? plain(String(value)) : String(value));
  }
}

// Drawn on a grid of 24 with lines of one width.
const ICONS: Record<string, string[]> = {
  back: ["M15 5l-7 7 7 7"],
  sun: ["M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z", "M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5"],
  moon: ["M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z"],
  search: ["M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14z", "M16 16l5 5"],
  runs: ["M4 6h16M4 12h16M4 18h10"],
  compare: ["M4 18l5-7 4 4 7-10", "M4 12l4-3 5 1 7-2"],
  sweep: ["M5 5h4v4H5zM15 5h4v4h-4zM5 15h4v4H5zM15 15h4v4h-4z"],
  statistics: ["M5 20V10M12 20V4M19 20v-7"],
  plus: ["M12 5v14M5 12h14"],
  pause: ["M8 5v14M16 5v14"],
  continue: ["M7 5l12 7-12 7z"],
  resume: ["M4 12a8 8 0 1 0 3-6", "M4 4v4h4"],
  cancel: ["M6 6h12v12H6z"],
  label: ["M4 20l1-4L16 5l3 3L8 19z"],
  file: ["M6 3h8l4 4v14H6z", "M14 3v4h4"],
  download: ["M12 4v11M7 11l5 5 5-5M5 20h14"],
  pin: ["M12 15v6M8 4h8l-1 7 3 4H6l3-4z"],
  warn: ["M12 4l9 16H3z", "M12 10v4M12 17v.5"],
};

export function icon(name: string): SVGElement {
  const paths = (ICONS[name] ?? []).map((path) => svg("path", { d: path }));
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, ...paths);
}

export function button(text: string, press: () => void, attributes: Attributes = {}, picture = ""): HTMLButtonElement {
  const made = el("button", { type: "button", ...attributes }, picture && icon(picture), text && el("span", {}, text));
  made.addEventListener("click", press);
  return made;
}

// A link within the page: the address changes, nothing is loaded.
export function link(to: string, attributes: Attributes, ...children: Child[]): HTMLAnchorElement {
  return el("a", { href: to, "data-inside": true, ...attributes }, ...children);
}
