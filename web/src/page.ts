// What every view shares: the WebSocket, the address, what the server allows.

import type { Live } from "./live";

export interface Page {
  live: Live;
  control: boolean;
  // To another address of the page, or to this one with other parameters.
  go(to: string, how?: "push" | "replace"): void;
  // A sentence at the bottom, for a while.
  say(text: string, level?: "ok" | "bad"): void;
}

export interface View {
  title: string;
  element: HTMLElement;
  close(): void;
}
