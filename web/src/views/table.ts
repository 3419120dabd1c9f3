// The table of runs: filter, order, groups; only the rows in sight are fetched and drawn.

import { button, el, icon, link, put, svg } from "../dom";
import type { Json } from "../live";
import type { Page, View } from "../page";
import { query } from "../request";
import { statePill } from "../state";

const ROW = 46;
const BEYOND = 20;
const TYPED_MS = 250;
const SCROLLED_MS = 50;
const COLUMNS = ["label", "state", "tags", "algo", "env", "seed", "return", "best", "steps", "time", "started"];
const GROUPINGS: [string, string][] = [
  ["", "no groups"],
  ["algo,env", "by algorithm and environment"],
  ["group", "by submit (seeds)"],
  ["tags", "by tags"],
  ["env", "by environment"],
  ["state", "by state"],
];

export function tableView(page: Page, given: URLSearchParams): View {
  let filter = given.get("filter") ?? "";
  let sort = given.get("sort") ?? "";
  let downwards = given.get("down") === "1";
  let group = given.get("group") ?? "";
  const columns = given.get("columns")?.split(",").filter(Boolean) ?? COLUMNS;
  const chosen = new Map<string, string[]>();
  let channel = 0;
  let asked = { first: -1, rows: 0 };
  let timer = 0;
  let last: Json | null = null;

  const typed = el("input", {
    type: "search", class: "filter", placeholder: "algo:ppo lr<1e-3 return>200 tag:paper", value: filter,
    "aria-label": "Filter runs", spellcheck: "false", autocomplete: "off",
  });
  const problem = el("p", { class: "problem", hidden: true });
  const count = el("span", { class: "count" });
  const compare = link("/compare", { class: "button", hidden: true }, icon("compare"), el("span", {}, "Compare"));
  const groupings = GROUPINGS.some(([value]) => value === group) ? GROUPINGS : [...GROUPINGS, [group, `by ${group}`] as [string, string]];
  const grouping = el(
    "select", { "aria-label": "Groups" },
    ...groupings.map(([value, text]) => el("option", { value, selected: value === group }, text)),
  );
  const head = el("div", { class: "row head" });
  const body = el("div", { class: "rows" });
  const scroll = el("div", { class: "scroll" }, head, body);
  const nothing = el("div", { class: "nothing", hidden: true });

  const bar = el(
    "div", { class: "bar" },
    el("label", { class: "search" }, icon("search"), typed),
    grouping, el("span", { class: "space" }), count, compare,
    page.control && link("/new", { class: "button primary" }, icon("plus"), el("span", {}, "New run")),
  );
  const element = el("main", { class: "table-view" }, bar, problem, scroll, nothing);

  function keepAddress(): void {
    const given = { filter, sort, down: downwards ? "1" : "", group, columns: columns === COLUMNS ? "" : columns.join(",") };
    page.go(`/${query(given)}`, "replace");
  }

  function ask(): void {
    const first = Math.max(0, Math.floor(scroll.scrollTop / ROW) - BEYOND);
    const rows = Math.min(500, Math.ceil(scroll.clientHeight / ROW) + 2 * BEYOND || 60);
    if (channel && first === asked.first && rows === asked.rows) return;
    if (channel) page.live.close(channel);
    asked = { first, rows };
    const wanted = { filter, columns, sort, downwards, group: group ? group.split(",") : [], first, rows };
    channel = page.live.open("table", wanted, { json: take });
  }

  function anew(): void {
    asked.first = -1;
    scroll.scrollTop = 0;
    ask();
  }

  function take(message: Json): void {
    const why = message.error ?? message.problem;
    problem.hidden = !why;
    typed.classList.toggle("broken", Boolean(why));
    if (why) {
      put(problem, why);
      return;
    }
    const isFirst = last === null;
    last = message;
    draw();
    // Seen in the browser's own tools, and by bench/web.py.
    if (isFirst) requestAnimationFrame(() => performance.mark("runs"));
  }

  function draw(): void {
    if (!last) return;
    const message = last;
    element.dataset.total = String(message.total);
    count.textContent = message.total === message.all ? `${message.all} runs` : `${message.total} of ${message.all} runs`;
    const lines = message.groups ?? message.rows;
    const total = message.groups ? message.total_groups : message.total;
    scroll.hidden = total === 0;
    nothing.hidden = total !== 0;
    if (total === 0) {
      const why = filter ? "No run fits the filter." : "No runs yet.";
      put(nothing, el("p", {}, why), !filter && el("code", {}, "mosaic train ppo"));
    }
    put(head, el("span", { class: "cell check" }), ...message.columns.map((column: Json, place: number) => heading(column, columns[place]!)));
    body.style.height = `${total * ROW}px`;
    const drawn = lines.map((line: Json, place: number) => {
      const made = message.groups ? groupRow(line, message.columns) : runRow(line, message.columns);
      made.style.top = `${(message.first + place) * ROW}px`;
      return made;
    });
    put(body, ...drawn);
    const selected = [...chosen.values()].flat().length;
    compare.hidden = selected < 2;
    compare.lastElementChild!.textContent = `Compare ${selected}`;
    compare.href = `/compare${query({ run: [...chosen.values()].flat(), by: group })}`;
  }

  function heading(column: Json, name: string): HTMLElement {
    const arrow = sort === name ? (downwards ? " ↓" : " ↑") : "";
    const made = button(`${column.title}${arrow}`, () => {
      // Up, down, and back to the newest first.
      if (sort !== name) [sort, downwards] = [name, true];
      else if (downwards) downwards = false;
      else sort = "";
      keepAddress();
      anew();
    }, { class: `cell head-cell col-${column.name} ${column.right ? "right" : ""}` });
    return made;
  }

  function check(key: string, runs: string[]): HTMLElement {
    const box = el("input", { type: "checkbox", "aria-label": "Select", checked: chosen.has(key) });
    box.addEventListener("change", () => {
      if (box.checked) chosen.set(key, runs);
      else chosen.delete(key);
      draw();
    });
    return el("label", { class: "cell check" }, box);
  }

  function runRow(line: Json, heads: Json[]): HTMLElement {
    const cells = heads.map((column, place) => {
      const text = line.cells[place] as string;
      const classes = `cell col-${column.name} ${column.right ? "right" : ""}`;
      if (column.name === "state") return el("span", { class: classes }, statePill(line.state));
      if (column.name === "label") {
        const share = line.done !== null && line.state === "running" ? progress(line.done) : null;
        return el(
          "span", { class: classes },
          el("span", { class: "name", dir: "auto" }, line.pinned && icon("pin"), text || line.run.slice(-8), line.damaged && icon("warn")),
          share,
        );
      }
      if (column.name === "return") return el("span", { class: classes }, sparkline(line.spark, line.state), el("b", {}, text || "–"));
      if (column.name === "tags") return el("span", { class: classes }, ...text.split(", ").filter(Boolean).map((tag) => el("i", { class: "tag" }, tag)));
      return el("span", { class: classes, title: text }, text);
    });
    return el(
      "div", { class: "row", "data-run": line.run },
      check(line.run, [line.run]),
      link(`/run/${line.run}`, { class: "cells" }, ...cells),
    );
  }

  function groupRow(line: Json, heads: Json[]): HTMLElement {
    const cells = heads.map((column, place) => {
      const { text, tip } = line.cells[place];
      const shown = column.name === "label" ? `${line.title}` : text;
      return el("span", { class: `cell col-${column.name} ${column.right ? "right" : ""}`, title: tip || shown }, shown);
    });
    const to = line.runs.length === 1 ? `/run/${line.runs[0]}` : `/compare${query({ run: line.runs, by: group })}`;
    return el("div", { class: "row group" }, check(line.title, line.runs), link(to, { class: "cells" }, ...cells));
  }

  typed.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      filter = typed.value;
      keepAddress();
      anew();
    }, TYPED_MS);
  });
  grouping.addEventListener("change", () => {
    group = grouping.value;
    chosen.clear();
    keepAddress();
    anew();
  });
  scroll.addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, SCROLLED_MS);
  }, { passive: true });
  const press = (event: KeyboardEvent) => {
    if (event.key === "/" && !(event.target instanceof HTMLInputElement)) {
      event.preventDefault();
      typed.focus();
    }
  };
  document.addEventListener("keydown", press);
  const observer = new ResizeObserver(ask);
  observer.observe(scroll);
  ask();
  return {
    title: "Runs",
    element,
    close() {
      observer.disconnect();
      document.removeEventListener("keydown", press);
      page.live.close(channel);
    },
  };
}

function progress(done: number): HTMLElement {
  const bar = el("progress", { max: 1, value: done });
  return bar;
}

function sparkline(values: number[], state: string): SVGElement {
  if (values.length < 2) return svg("svg", { class: "spark" });
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const at = values.map((value, place) => `${((place / (values.length - 1)) * 58 + 1).toFixed(1)},${(17 - ((value - low) / span) * 14).toFixed(1)}`);
  return svg("svg", { class: `spark ${state}`, viewBox: "0 0 60 20", preserveAspectRatio: "none" }, svg("polyline", { points: at.join(" ") }));
}
