import type { Breathe } from './breathe.js';

/** Bytes of JSON that are parsed at a time: about 2 ms for many small values. */
const PIECE_BYTES = 32 * 1024;

const OPENS_LIST = 0x5b;
const CLOSES_LIST = 0x5d;
const OPENS_OBJECT = 0x7b;
const CLOSES_OBJECT = 0x7d;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Parses JSON as `JSON.parse` does, with pauses. Lists and objects that are larger than a piece are parsed element by
 * element, several small ones at a time. `bytes` must be well-formed JSON as `JSON.stringify` writes it.
 */
export async function parseJsonInSlices(bytes: Buffer, breathe: Breathe): Promise<unknown> {
  if (bytes.length <= PIECE_BYTES) return JSON.parse(bytes.toString());
  return new Reader(bytes, breathe).value();
}

class Reader {
  #at = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly breathe: Breathe,
  ) {}

  async value(): Promise<unknown> {
    const first = this.#next();
    const from = this.#at;
    if (this.#skipValue(from + PIECE_BYTES)) return this.#parse(from, this.#at);
    this.#at = from;
    return first === OPENS_LIST ? this.#list() : this.#object();
  }

  async #object(): Promise<Record<string, unknown>> {
    const members: [string, unknown][] = [];
    this.#at++;
    while (this.#next() !== CLOSES_OBJECT) {
      const from = this.#at;
      while (this.#next() !== COLON) this.#skip();
      const name = this.#parse(from, this.#at) as string;
      this.#at++;
      members.push([name, await this.value()]);
      await this.breathe();
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return Object.fromEntries(members);
  }

  async #list(): Promise<unknown[]> {
    const items: unknown[] = [];
    this.#at++;
    while (this.#next() !== CLOSES_LIST) {
      const from = this.#at;
      let to = from;
      while (this.#at - from < PIECE_BYTES && this.#skipValue(from + PIECE_BYTES)) {
        to = this.#at;
        if (this.#next() !== COMMA) break;
        this.#at++;
      }
      this.#at = to;
      // An element that is larger than a piece is parsed by itself.
      if (to === from) items.push(await this.value());
      else for (const item of this.#parse(from, to, '[', ']') as unknown[]) items.push(item);
      await this.breathe();
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return items;
  }

  /**
   * Advances past a value, to the comma or bracket that follows it. Stops and returns false at a list or an object that
   * does not end before `limit`.
   */
  #skipValue(limit: number): boolean {
    let depth = 0;
    for (; this.#at < this.bytes.length; this.#skip()) {
      const byte = this.bytes[this.#at];
      if (byte === OPENS_LIST || byte === OPENS_OBJECT) depth++;
      else if (byte === CLOSES_LIST || byte === CLOSES_OBJECT) {
        if (depth === 0) return true;
        depth--;
      } else if (byte === COMMA && depth === 0) return true;
      if (depth > 0 && this.#at >= limit) return false;
    }
    return true;
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
