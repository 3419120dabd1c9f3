// The one WebSocket of the page: channels by number, opened anew after every loss.

export type Json = Record<string, any>;

export interface Listener {
  json?(message: Json): void;
  columns?(head: Json, columns: Record<string, Float64Array>): void;
  picture?(head: Json, bytes: Uint8Array<ArrayBuffer>): void;
}

export type Connection = "connecting" | "open" | "gone" | "refused" | "void";

const RETRY_MS = 700;
const REFUSED_MS = 5000;
const TRY_LATER = 1013;

interface Open {
  request: Json;
  listener: Listener;
}

export class Live {
  state: Connection = "connecting";
  bytes = 0;
  // Why the server let this page in no further.
  refusal = "";
  private socket: WebSocket | null = null;
  private channels = new Map<number, Open>();
  private next = 1;

  constructor(private readonly changed: () => void) {
    this.connect();
  }

  // The number of a channel, for `close` and `ack`.
  open(kind: string, asked: Json, listener: Listener): number {
    const number = this.next++;
    const request = { c: number, open: kind, ...asked };
    this.channels.set(number, { request, listener });
    this.send(request);
    return number;
  }

  close(number: number): void {
    if (this.channels.delete(number)) this.send({ c: number });
  }

  ack(number: number): void {
    this.send({ c: number, ack: 1 });
  }

  private send(message: Json): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private connect(): void {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      // Whether there is room for it, the server says at once; a first message is the sign that there is.
      if (!this.refusal) this.be("open");
      for (const { request } of this.channels.values()) this.send(request);
    };
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => this.take(event.data);
    socket.onclose = (event) => void this.lost(event.code === TRY_LATER ? event.reason : "");
  }

  private async lost(refusal: string): Promise<void> {
    let state: Connection = refusal ? "refused" : "gone";
    this.refusal = refusal;
    try {
      const answer = await fetch("/api/about");
      if (answer.status === 401) state = "void";
    } catch {
      // No server: the state says so already.
    }
    this.be(state);
    setTimeout(() => this.connect(), refusal ? REFUSED_MS : RETRY_MS);
  }

  private be(state: Connection): void {
    if (state !== this.state) {
      this.state = state;
      this.changed();
    }
  }

  private take(data: string | ArrayBuffer): void {
    this.refusal = "";
    this.be("open");
    if (typeof data === "string") {
      this.bytes += data.length;
      const message = JSON.parse(data) as Json;
      this.channels.get(message.c)?.listener.json?.(message);
      return;
    }
    this.bytes += data.byteLength;
    const { head, columns, payload } = unpacked(data);
    const listener = this.channels.get(head.c)?.listener;
    if (columns) listener?.columns?.(head, columns);
    else listener?.picture?.(head, payload);
  }
}

export interface Unpacked {
  head: Json;
  columns: Record<string, Float64Array> | null;
  payload: Uint8Array<ArrayBuffer>;
}

export function unpacked(data: ArrayBuffer): Unpacked {
  const length = new DataView(data).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as Json;
  let at = 4 + length;
  const payload = new Uint8Array(data, at);
  if (!head.columns) return { head, columns: null, payload };
  const columns: Record<string, Float64Array> = {};
  for (const [name, count] of Object.entries(head.columns as Record<string, number>)) {
    columns[name] = new Float64Array(data, at, count);
    at += 8 * count;
  }
  return { head, columns, payload };
}
