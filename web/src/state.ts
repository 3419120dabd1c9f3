// The state of a run as a word with its colour.

import { el } from "./dom";

export function statePill(state: string): HTMLElement {
  return el("span", { class: `state ${state}` }, el("i", { class: "dot" }), state);
}
