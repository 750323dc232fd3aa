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
  return bytes.length <= PIECE_BYTES ? JSON.parse(bytes.toString()) : new Reader(bytes, breathe).read();
}

class Reader {
  #at = 0;
  /** Offsets of the lists and objects that are larger than a piece. */
  readonly #large = new Set<number>();

  constructor(
    private readonly bytes: Buffer,
    private readonly breathe: Breathe,
  ) {}

  async read(): Promise<unknown> {
    await this.#findLarge();
    this.#at = 0;
    return this.#value();
  }

  /** Finds them in one pass: looking for the end of each when it is read would take time by the square of the depth. */
  async #findLarge(): Promise<void> {
    const open: number[] = [];
    let pause = PIECE_BYTES;
    for (; this.#at < this.bytes.length; this.#skip()) {
      const byte = this.bytes[this.#at];
      if (byte === OPENS_LIST || byte === OPENS_OBJECT) open.push(this.#at);
      else if (byte === CLOSES_LIST || byte === CLOSES_OBJECT) {
        const from = open.pop() ?? 0;
        if (this.#at - from >= PIECE_BYTES) this.#large.add(from);
      }
      if (this.#at < pause) continue;
      pause = this.#at + PIECE_BYTES;
      await this.breathe();
    }
  }

  async #value(): Promise<unknown> {
    const first = this.#next();
    const from = this.#at;
    if (!this.#large.has(from)) {
      this.#skipValue();
      return this.#parse(from, this.#at);
    }
    // Each level of nesting is a turn of its own, so that deep values do not exceed the stack.
    await this.breathe();
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
      members.push([name, await this.#value()]);
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
      while (to - from < PIECE_BYTES && !this.#large.has(this.#at)) {
        this.#skipValue();
        to = this.#at;
        if (this.#next() !== COMMA) break;
        this.#at++;
        this.#next();
      }
      this.#at = to;
      // An element that is larger than a piece is parsed by itself.
      if (to === from) items.push(await this.#value());
      else for (const item of this.#parse(from, to, '[', ']') as unknown[]) items.push(item);
      await this.breathe();
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return items;
  }

  /** Advances past a value, to the comma or bracket that follows it. */
  #skipValue(): void {
    let depth = 0;
    for (; this.#at < this.bytes.length; this.#skip()) {
      const byte = this.bytes[this.#at];
      if (byte === OPENS_LIST || byte === OPENS_OBJECT) depth++;
      else if (byte === CLOSES_LIST || byte === CLOSES_OBJECT) {
        if (depth === 0) return;
        depth--;
      } else if (byte === COMMA && depth === 0) return;
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
