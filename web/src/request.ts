// Requests over HTTP; an answer that is an error is thrown with the server's own words.

import type { Json } from "./live";

export class Refused extends Error {
  constructor(
    message: string,
    readonly problems: { path: string; message: string }[] = [],
  ) {
    super(message);
  }
}

export async function get(path: string): Promise<any> {
  return answered(await reached(() => fetch(path)));
}

export async function post(path: string, body: Json = {}): Promise<any> {
  const request = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return answered(await reached(() => fetch(path, request)));
}

export async function binary(path: string): Promise<ArrayBuffer> {
  const answer = await reached(() => fetch(path));
  if (!answer.ok) await answered(answer);
  return answer.arrayBuffer();
}

async function reached(ask: () => Promise<Response>): Promise<Response> {
  try {
    return await ask();
  } catch {
    throw new Refused("'mosaic web' does not answer");
  }
}

async function answered(answer: Response): Promise<any> {
  const data = await answer.json().catch(() => ({ error: `the server answered with ${answer.status}` }));
  if (!answer.ok) throw new Refused(data.error ?? `the server answered with ${answer.status}`, data.problems);
  return data;
}

export function query(given: Record<string, string | string[] | undefined>): string {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    for (const one of Array.isArray(value) ? value : value ? [value] : []) made.append(name, one);
  }
  const text = made.toString();
  return text ? `?${text}` : "";
}
