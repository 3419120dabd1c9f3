// Dark and light: as the system has it, or as the user chose; canvases read their colours from the style sheet.

const KEY = "mosaic-theme";
const listeners = new Set<() => void>();
let cache: Record<string, string> = {};

export function startTheme(): void {
  const chosen = localStorage.getItem(KEY);
  if (chosen) document.documentElement.dataset.theme = chosen;
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", tell);
}

export function isLight(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "light" : matchMedia("(prefers-color-scheme: light)").matches;
}

export function turnTheme(): void {
  const wanted = isLight() ? "dark" : "light";
  document.documentElement.dataset.theme = wanted;
  localStorage.setItem(KEY, wanted);
  tell();
}

export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function colour(name: string): string {
  return (cache[name] ??= getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
}

export const CURVES = 8;

export function curveColour(place: number): string {
  return colour(`curve-${place % CURVES}`);
}

function tell(): void {
  cache = {};
  for (const listener of listeners) listener();
}
