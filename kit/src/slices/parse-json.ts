import type { Breathe } from './breathe.js';

/** Bytes of JSON that are parsed at a time: about 2 ms for many small values. */
const PIECE_BYTES = 32 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Parses JSON as `JSON.parse` does, with pauses. A list, or a list that is a member of the outermost object, is parsed
 * in pieces of several elements. `bytes` must be well-formed JSON as `JSON.stringify` writes it.
 */
export async function parseJsonInSlices(bytes: Buffer, breathe: Breathe): Promise<unknown> {
  if (bytes.length <= PIECE_BYTES) return JSON.parse(bytes.toString());
  const reader = new Reader(bytes, breathe);
  if (reader.opensList()) return reader.list();
  return reader.opensObject() ? reader.object() : JSON.parse(bytes.toString());
}

class Reader {
  #at = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly breathe: Breathe,
  ) {}

  opensList(): boolean {
    return this.#next() === 0x5b;
  }

  opensObject(): boolean {
    return this.#next() === 0x7b;
  }

  async object(): Promise<Record<string, unknown>> {
    const members: [string, unknown][] = [];
    this.#at++;
    while (this.#next() !== 0x7d) {
      const from = this.#at;
      while (this.#next() !== COLON) this.#skip();
      const name = this.#parse(from, this.#at) as string;
      this.#at++;
      members.push([name, this.opensList() ? await this.list() : await this.#value()]);
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return Object.fromEntries(members);
  }

  async list(): Promise<unknown[]> {
    const items: unknown[] = [];
    this.#at++;
    while (this.#next() !== 0x5d) {
      const from = this.#at;
      let to = from;
      do {
        if (to > from) this.#at++;
        await this.#skipValue();
        to = this.#at;
      } while (this.#next() === COMMA && to - from < PIECE_BYTES);
      for (const item of this.#parse(from, to, '[', ']') as unknown[]) items.push(item);
      await this.breathe();
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return items;
  }

  async #value(): Promise<unknown> {
    const from = this.#at;
    await this.#skipValue();
    return this.#parse(from, this.#at);
  }

  /** Advances past a value, to the comma or bracket that follows it. */
  async #skipValue(): Promise<void> {
    let depth = 0;
    let pause = this.#at + PIECE_BYTES;
    for (; this.#at < this.bytes.length; this.#skip()) {
      const byte = this.bytes[this.#at];
      if (byte === 0x5b || byte === 0x7b) depth++;
      else if (byte === 0x5d || byte === 0x7d) {
        if (depth === 0) return;
        depth--;
      } else if (byte === COMMA && depth === 0) return;
      if (this.#at < pause) continue;
      pause = this.#at + PIECE_BYTES;
      await this.breathe();
    }
  }

  /** Advances past a character or a whole string. */
  #skip(): void {
    const { bytes } = this;
    if (bytes[this.#at] === QUOTE) {
      do this.#at = bytes.indexOf(QUOTE, this.#at + 1);
      while (this.#at >= 0 && this.#isEscaped());
      if (this.#at < 0) this.#at = bytes.length;
    }
    this.#at++;
  }

  #isEscaped(): boolean {
    let before = this.#at;
    while (this.bytes[before - 1] === BACKSLASH) before--;
    return (this.#at - before) % 2 === 1;
  }

  /** Returns the next byte that is not white space. Throws at the end of the bytes. */
  #next(): number {
    for (;;) {
      const byte = this.bytes[this.#at];
      if (byte === undefined) throw new SyntaxError('the JSON ends too early');
      if (byte > 0x20) return byte;
      this.#at++;
    }
  }

  #parse(from: number, to: number, open = '', close = ''): unknown {
    return JSON.parse(`${open}${this.bytes.toString('utf8', from, to)}${close}`);
  }
}
