// A new run: the form is made of the JSON Schemas that the flags and the window's form are made of.

import { button, el, put } from "../dom";
import { title } from "../format";
import type { Json } from "../live";
import type { Page, View } from "../page";
import { get, post, Refused } from "../request";

const OUTSIDE = ["env_id", "total_timesteps", "seed"];
const PARAMS = "metadata.worker.config.extras.algo_params";
const EXTRAS = "metadata.worker.config.extras";
const SETTINGS = "environment.settings";
const TYPED_MS = 350;
const MACHINE = /^(torch_|cuda|spade)/;

interface Field {
  path: string;
  name: string;
  element: HTMLElement;
  read(): unknown;
  isChanged(): boolean;
  complain(text: string): void;
}

export function formView(page: Page, given: URLSearchParams): View {
  const element = el("main", { class: "form-view" }, el("h1", {}, "New run"), el("p", { class: "muted" }, "Reading the algorithms …"));
  let isOpen = true;
  get("/api/form").then(
    (found) => isOpen && draw(page, element, found, given),
    (error: Error) => put(element, el("h1", {}, "New run"), el("p", { class: "bad" }, error.message)),
  );
  return { title: "New run", element, close: () => (isOpen = false) };
}

function draw(page: Page, element: HTMLElement, found: Json, given: URLSearchParams): void {
  let fields: Field[] = [];
  let ofEnvironment: Field[] = [];
  // One key for one wish: a retry of the same values after a lost answer makes no second run.
  let key = "";
  let sent = "";
  let timer = 0;
  const algorithms = found.algorithms as Json[];
  const chosen = el("select", { name: "algo" }, ...algorithms.map((one) => el("option", { value: one.name, selected: one.name === (given.get("algo") ?? "ppo") }, one.name)));
  const summary = el("p", { class: "muted" });
  const listed = el("datalist", { id: "environments" });
  const environment = el("input", { name: "env_id", list: "environments", spellcheck: "false", autocomplete: "off" });
  const about = el("p", { class: "muted" });
  const label = el("input", { name: "label", placeholder: "optional", maxlength: 200 });
  const tags = el("input", { name: "tags", placeholder: "paper, baseline" });
  const seeds = el("input", { name: "seeds", placeholder: "1-5 or 1,3,7; empty is the seed below" });
  const priority = el("input", { name: "priority", value: "0", inputmode: "numeric" });
  const run = el("div", { class: "fields" });
  const own = el("div", { class: "fields" });
  const env = el("div", { class: "fields" });
  const options = el("div", { class: "fields" });
  const problem = el("p", { class: "bad", role: "alert" });
  const start = el("button", { class: "button primary" }, "Start training");
  const form = el(
    "form", {},
    el("fieldset", {}, el("legend", {}, "Algorithm and environment"),
      el("div", { class: "fields" }, plainField("Algorithm", chosen, summary), plainField("Environment", environment, about)), listed),
    el("fieldset", {}, el("legend", {}, "Run"),
      el("div", { class: "fields" }, plainField("Label", label), plainField("Tags", tags), plainField("Seeds of a group", seeds), plainField("Priority", priority)), run),
    el("fieldset", {}, el("legend", {}, "Settings of the algorithm"), own),
    el("details", {}, el("summary", {}, "Settings of the environment"), env),
    el("details", {}, el("summary", {}, "Saving, live view, tracking and alerts"), options),
    el("div", { class: "submit" }, problem, start),
  );
  put(element, el("h1", {}, "New run"), form);

  function drawAlgorithm(): void {
    const algorithm = algorithms.find((one) => one.name === chosen.value)!;
    put(summary, algorithm.summary);
    const schema = algorithm.schema as Json;
    // What says how the machine computes stands last.
    const settings = Object.entries(schema.properties as Record<string, Json>).sort(([a], [b]) => Number(MACHINE.test(a)) - Number(MACHINE.test(b)));
    fields = settings.filter(([name]) => name !== "env_id").map(([name, about]) => {
      const isOutside = OUTSIDE.includes(name);
      return schemaField(isOutside ? `metadata.worker.config.${name}` : `${PARAMS}.${name}`, name, about, schema);
    });
    put(run, ...fields.filter((field) => OUTSIDE.includes(field.name)).map((field) => field.element));
    put(own, ...fields.filter((field) => !OUTSIDE.includes(field.name)).map((field) => field.element));
    const wanted = (algorithm.actions as string).split(", ");
    const fitting = (found.families as Json[]).flatMap((family) => (family.installed ? (family.environments as string[][]) : []))
      .filter(([, actions]) => !actions || wanted.includes(actions));
    put(listed, ...fitting.map(([id]) => el("option", { value: id })));
    environment.value = given.get("env") ?? String((schema.properties.env_id as Json | undefined)?.default ?? environment.value);
    const further = found.options as Json;
    const extra = Object.entries(further.properties as Record<string, Json>).map(([name, about]) => schemaField(`${EXTRAS}.${name}`, name, about, further));
    put(options, ...extra.map((field) => field.element));
    fields.push(...extra);
    void drawEnvironment();
  }

  async function drawEnvironment(): Promise<void> {
    ofEnvironment = [];
    put(env);
    if (!environment.value) return;
    try {
      const known = await get(`/api/environment?env_id=${encodeURIComponent(environment.value)}`);
      put(about, known.status === "listed" || known.status === "unlisted" ? [known.actions && `${known.actions} actions`, known.observations].filter(Boolean).join(", ")
        : `${known.status}${known.near.length ? `; did you mean ${known.near.join(" or ")}?` : ""}`);
      const schema = known.settings as Json | null;
      ofEnvironment = Object.entries((schema?.properties ?? {}) as Record<string, Json>).map(([name, one]) => schemaField(`${SETTINGS}.${name}`, name, one, schema!));
      put(env, ...ofEnvironment.map((field) => field.element), !ofEnvironment.length && el("p", { class: "muted" }, schema ? "It has none." : "Only a worker can tell which there are."));
    } catch (error) {
      put(about, (error as Error).message);
    }
  }

  function document_(): Json {
    const made: Json = {
      run_name: label.value, tags: tags.value,
      environment: { env_id: environment.value, settings: {} },
      artifacts: { tensorboard: { enabled: true }, wandb: { enabled: false } },
      metadata: { ui: {}, worker: { config: { algo: chosen.value, env_id: environment.value, extras: { algo_params: {} } } } },
    };
    for (const field of [...fields, ...ofEnvironment]) {
      const isNeeded = OUTSIDE.includes(field.name) && !field.path.startsWith(SETTINGS);
      if (!field.isChanged() && !isNeeded) continue;
      const parts = field.path.split(".");
      let place = made;
      for (const part of parts.slice(0, -1)) place = place[part] ??= {};
      place[parts.at(-1)!] = field.read();
    }
    made.artifacts.wandb.enabled = Boolean(made.metadata.worker.config.extras.track_wandb);
    return made;
  }

  async function submit(): Promise<void> {
    for (const field of [...fields, ...ofEnvironment]) field.complain("");
    put(problem);
    start.disabled = true;
    try {
      const wanted = { document: document_(), seeds: seeds.value, priority: priority.value };
      if (JSON.stringify(wanted) !== sent) key = crypto.getRandomValues(new Uint32Array(4)).join("-");
      sent = JSON.stringify(wanted);
      const { runs } = await post("/api/runs", { ...wanted, client_key: key });
      page.say(runs.length > 1 ? `${runs.length} runs are queued.` : "The run is queued.");
      page.go(`/run/${runs[0]}`);
    } catch (error) {
      const rest = complaints(error as Refused);
      put(problem, rest);
      start.disabled = false;
    }
  }

  // What is wrong stands at its field; the rest is told at the button.
  function complaints(error: Refused): string {
    const lines = error.message.split("\n").map((line) => line.trim());
    const left: string[] = [];
    for (const line of lines) {
      const field = [...fields, ...ofEnvironment].find((one) => line.includes(`${one.path}:`) || line.startsWith(`${flag(one.name)}:`) || line.includes(`: ${flag(one.name)}:`));
      if (field) field.complain(line.slice(line.indexOf(":", line.indexOf(field.name)) + 1).trim() || line);
      else left.push(line);
    }
    const first = form.querySelector(".field.broken");
    first?.closest("details")?.setAttribute("open", "");
    first?.scrollIntoView({ block: "center", behavior: "smooth" });
    return left.length === lines.length ? error.message : left.filter(Boolean).join(" ") || "Correct the settings that are marked.";
  }

  chosen.addEventListener("change", drawAlgorithm);
  environment.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void drawEnvironment(), TYPED_MS);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit();
  });
  drawAlgorithm();
}

function flag(name: string): string {
  return `--${name.replaceAll("_", "-")}`;
}

function plainField(name: string, input: HTMLElement, below: HTMLElement | null = null): HTMLElement {
  return el("label", { class: "field" }, el("span", {}, name), input, below);
}

function schemaField(path: string, name: string, given: Json, schema: Json): Field {
  const resolved = resolve(given, schema);
  const { kind, choices, isOptional } = kindOf(resolved, schema);
  const initial = given.default ?? resolved.default;
  const complaint = el("small", { class: "bad" });
  let input: HTMLInputElement | HTMLSelectElement;
  if (kind === "boolean") input = el("input", { type: "checkbox", role: "switch", checked: initial === true });
  else if (choices.length) {
    const all = isOptional ? [null, ...choices] : choices;
    input = el("select", {}, ...all.map((one) => el("option", { value: JSON.stringify(one), selected: one === (initial ?? null) }, one === null ? "none" : String(one))));
  } else {
    input = el("input", {
      value: shown(initial, kind), spellcheck: "false", autocomplete: "off",
      inputmode: kind === "integer" || kind === "number" ? "decimal" : "text", placeholder: isOptional ? "none" : "",
    });
  }
  input.setAttribute("name", path);
  const before = kind === "boolean" ? String(initial === true) : input.value;
  const value = () => (input instanceof HTMLInputElement && kind === "boolean" ? String(input.checked) : input.value);
  const bounds = [["minimum", "at least"], ["exclusiveMinimum", "more than"], ["maximum", "at most"], ["exclusiveMaximum", "less than"]]
    .flatMap(([key, word]) => (numeric(resolved, schema, key!) === undefined ? [] : [`${word} ${numeric(resolved, schema, key!)}`])).join(", ").replace(/^./, (first) => first.toUpperCase());
  const doc = String(given.description ?? resolved.description ?? "");
  const reset = button("reset", () => {
    if (input instanceof HTMLInputElement && kind === "boolean") input.checked = before === "true";
    else input.value = before;
    changed();
  }, { class: "chip small", hidden: true });
  const element = el("label", { class: kind === "boolean" ? "field toggle" : "field" }, el("span", {}, title(name), reset), input, complaint, el("small", { class: "muted" }, [doc, bounds].filter(Boolean).join(" ")));
  const changed = () => {
    reset.hidden = value() === before;
    element.classList.toggle("changed", value() !== before);
  };
  input.addEventListener("input", changed);
  return {
    path, name, element,
    isChanged: () => value() !== before,
    read: () => read(value(), kind, choices.length > 0, isOptional),
    complain(text) {
      put(complaint, text);
      element.classList.toggle("broken", Boolean(text));
    },
  };
}

function read(text: string, kind: string, isChoice: boolean, isOptional: boolean): unknown {
  if (kind === "boolean") return text === "true";
  if (isChoice) return JSON.parse(text) as unknown;
  const trimmed = text.trim();
  if (isOptional && ["", "none", "null"].includes(trimmed.toLowerCase())) return null;
  if (kind === "number" || kind === "integer") {
    const match = /^([-+.\d_,]+(?:e[-+]?\d+)?)\s*([kMG]?)$/i.exec(trimmed.replaceAll(",", "").replaceAll("_", ""));
    const unit = { "": 1, k: 1e3, m: 1e6, g: 1e9 }[(match?.[2] ?? "").toLowerCase()] ?? 1;
    const number = match ? Number(match[1]) * unit : NaN;
    // What is not a number is sent as it is: the daemon says what is wrong with it.
    return Number.isNaN(number) ? text : number;
  }
  if (kind === "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function shown(value: unknown, kind: string): string {
  if (value === null || value === undefined) return "";
  if (kind === "number" || kind === "integer" || typeof value === "string") return String(value);
  return JSON.stringify(value);
}

function resolve(given: Json, schema: Json): Json {
  const name = typeof given.$ref === "string" ? given.$ref.split("/").at(-1)! : "";
  return name ? { ...(schema.$defs?.[name] as Json), ...given } : given;
}

function kindOf(given: Json, schema: Json): { kind: string; choices: unknown[]; isOptional: boolean } {
  const members = ((given.anyOf ?? given.oneOf ?? [given]) as Json[]).map((one) => resolve(one, schema));
  const isOptional = members.some((one) => one.type === "null") && members.length > 1;
  const [first, ...rest] = members.filter((one) => one.type !== "null");
  if (!first || rest.length) return { kind: "json", choices: [], isOptional };
  const choices = (first.enum ?? (first.const !== undefined ? [first.const] : [])) as unknown[];
  return { kind: typeof first.type === "string" ? first.type : "json", choices, isOptional };
}

function numeric(given: Json, schema: Json, key: string): number | undefined {
  const members = [given, ...((given.anyOf ?? []) as Json[]).map((one) => resolve(one, schema))];
  return members.map((one) => one[key] as number | undefined).find((one) => typeof one === "number");
}
