// The page: its frame, its addresses, what it says of the daemon.

import { button, el, icon, link, plain, put } from "./dom";
import { bytes } from "./format";
import { type Json, Live } from "./live";
import type { Page, View } from "./page";
import { get } from "./request";
import { isLight, onTheme, startTheme, turnTheme } from "./theme";
import { compareView } from "./views/compare";
import { formView } from "./views/form";
import { runView } from "./views/run";
import { statisticsView } from "./views/statistics";
import { sweepsView } from "./views/sweeps";
import { tableView } from "./views/table";

const SAID_MS = 5000;
const SECTIONS: [string, string, string][] = [
  ["/", "Runs", "runs"],
  ["/sweeps", "Sweeps", "sweep"],
  ["/statistics", "Statistics", "statistics"],
];

startTheme();
const banner = el("div", { class: "banner", hidden: true, role: "status" });
const stage = el("div", { class: "view" });
const said = el("div", { class: "said", hidden: true, role: "status" });
const machine = el("span", { class: "machine" });
const connection = el("span", { class: "connection" });
const sections = el("nav", {});
const theme = button("", turnTheme, { class: "tool", "aria-label": "Dark or light" });
const bar = el("header", { class: "top" }, link("/", { class: "brand" }, mark(), "MOSAIC"), sections, el("span", { class: "space" }), theme);
document.body.append(bar, banner, stage, said, el("footer", {}, connection, el("span", { class: "space" }), machine));

let view: View | null = null;
let daemon: Json = { state: "connecting", problem: "" };
let timer = 0;

const live = new Live(tellConnection);
const page: Page = { live, control: false, go, say };
live.open("machine", {}, {
  json(message) {
    daemon = message;
    tellConnection();
    tellMachine(message.health);
  },
});

function mark(): SVGElement {
  const picture = icon("sweep");
  picture.classList.add("mark");
  return picture;
}

function tellConnection(): void {
  const [text, level] = sentence();
  banner.hidden = !text;
  banner.className = `banner ${level}`;
  put(banner, text);
  document.body.dataset.connection = live.state === "open" ? daemon.state : live.state;
  put(connection, el("i", { class: `dot ${text ? "off" : "on"}` }), text ? "not connected" : "daemon connected");
}

function sentence(): [string, string] {
  if (live.state === "void") return ["This browser may not look yet: open the link that 'mosaic web' shows in its terminal.", "bad"];
  if (live.state === "gone") return ["'mosaic web' does not answer. The runs go on; this page connects again by itself.", "bad"];
  if (live.state === "refused") return [`'mosaic web' takes no further page: ${live.refusal}. This page tries again by itself.`, "warn"];
  if (live.state === "connecting") return ["", ""];
  if (daemon.state === "lost") return [`The daemon does not answer; its runs go on. This page connects again by itself. (${daemon.problem})`, "warn"];
  if (daemon.state === "stopped" || daemon.state === "homeless") return [daemon.problem, "warn"];
  return ["", ""];
}

function tellMachine(health: Json | null): void {
  if (!health) return put(machine);
  const gpus = (health.gpus as Json[]).map((gpu) => `${gpu.name} ${gpu.percent} %`);
  const indexed = health.indexed[0] < health.indexed[1] ? [`reading runs ${health.indexed[0]} of ${health.indexed[1]}`] : [];
  const facts = [...indexed, `CPU ${health.cpu} %`, `slots ${health.slots[0]} of ${health.slots[1]}`, `${bytes(health.memory[0])} of ${bytes(health.memory[1])}`, ...gpus, `disk ${bytes(health.disk_free)} free`];
  put(machine, ...facts.map((fact) => el("span", {}, fact)));
  machine.title = plain((health.warnings as string[]).join("\n"));
}

function say(text: string, level: "ok" | "bad" = "ok"): void {
  clearTimeout(timer);
  said.className = `said ${level}`;
  said.hidden = false;
  put(said, text);
  timer = setTimeout(() => (said.hidden = true), SAID_MS);
}

function go(to: string, how: "push" | "replace" = "push"): void {
  if (how === "replace") {
    history.replaceState(null, "", to);
    return;
  }
  history.pushState(null, "", to);
  show();
}

function show(): void {
  view?.close();
  view = made(new URL(location.href));
  document.title = plain(`${view.title} · MOSAIC`);
  put(stage, view.element);
  const place = location.pathname;
  put(sections, ...SECTIONS.map(([to, name, picture]) => {
    const isHere = to === "/" ? ["/", "/new", "/compare"].includes(place) || place.startsWith("/run/") : place.startsWith(to.replace(/s$/, ""));
    return link(to, { class: isHere ? "chosen" : "" }, icon(picture), el("span", {}, name));
  }));
}

function made(address: URL): View {
  const [, kind = "", id = ""] = address.pathname.split("/").map(decodeURIComponent);
  const given = address.searchParams;
  if (kind === "run" && id) return runView(page, id, given);
  if (kind === "compare") return compareView(page, given);
  if (kind === "sweeps") return sweepsView(page, "");
  if (kind === "sweep") return sweepsView(page, id);
  if (kind === "statistics") return statisticsView(page, given);
  if (kind === "new" && page.control) return formView(page, given);
  if (kind === "new") {
    const why = el("p", {}, "This server only looks. Started with ", el("code", {}, "mosaic web --allow-control"), " it also starts runs.");
    return { title: "New run", element: el("main", {}, el("div", { class: "nothing" }, why)), close: () => {} };
  }
  return tableView(page, given);
}

document.addEventListener("click", (event) => {
  const anchor = (event.target as Element).closest?.("a[data-inside]");
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go((anchor as HTMLAnchorElement).getAttribute("href")!);
});
addEventListener("popstate", show);

const drawTheme = () => put(theme, icon(isLight() ? "moon" : "sun"));
onTheme(drawTheme);
drawTheme();

function start(): void {
  get("/api/about").then((about) => {
    const before = page.control;
    page.control = Boolean(about.control);
    document.body.dataset.control = String(page.control);
    if (!view || before !== page.control) show();
  }, () => {
    if (!view) show();
  });
}
start();
