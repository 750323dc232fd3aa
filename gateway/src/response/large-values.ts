import { piecesOf } from '@commonplace/kit/slices';
import { quote } from './text.js';

/**
 * Size of the JSON values and long texts of an answer that are written at once, in bytes and characters. Further ones
 * are left out of its text until it is sent. Decoding JSON for the text of the answer and encoding that text again would
 * occupy the event loop for some 5 ms per megabyte, and escaping and encoding texts for as long.
 */
const LARGE_SIZE = 64 * 1024;
/** Characters of a list after which its further items are left out, too: writing them takes some two milliseconds. */
const LARGE_LIST = 128 * 1024;
/** Size up to which a value is always written at once, because a piece of its own would cost more. */
export const SMALL_SIZE = 4096;

/** Stands for a large value in a written answer. JSON never contains this character, because it has to be escaped. */
const PLACEHOLDER = '\u0000';

/** What a written answer leaves out: JSON as UTF-8, a text that is not yet JSON, or the rest of a list. */
type LeftOut = Buffer | LargeText | RestOfList;

/** A part of a written answer: JSON as text, or what was left out there. */
export type Part = string | LeftOut;

/** A text that becomes JSON piece by piece. */
export class LargeText {
  constructor(private readonly text: string) {}

  /** Returns the whole text as JSON. */
  toString(): string {
    return quote(this.text);
  }

  /** Returns the text as JSON in UTF-8, in pieces. */
  *pieces(): Generator<Buffer> {
    yield Buffer.from('"');
    for (const piece of piecesOf(this.text)) yield Buffer.from(quote(piece).slice(1, -1));
    yield Buffer.from('"');
  }
}

/** The items of a long list behind those that are written. */
export class RestOfList {
  constructor(private readonly write: () => string) {}

  /** Writes as many of the items as are written at once, and returns them with the rest behind them. */
  parts(): Part[] {
    const { text, values } = collectLargeValues(this.write);
    return partsOf(text, values);
  }

  toString(): string {
    return this.parts().join('');
  }
}

/** What the answer being written has left out so far, in order. Answers are written in pieces, each synchronously. */
let leftOut: LeftOut[] | undefined;
/** Size of the values that it has written at once so far. */
let written = 0;

/** Writes a value that is JSON already. A large one is left out of the text, with a placeholder in its position. */
export function writeJson(value: Buffer): string {
  return isWrittenAtOnce(value.length) ? value.toString('utf8') : leaveOut(value);
}

/** Writes a text. A large one is left out, with a placeholder in its position. */
export function writeText(text: string): string {
  return text.length <= SMALL_SIZE || isWrittenAtOnce(text.length) ? quote(text) : leaveOut(new LargeText(text));
}

/**
 * Writes the items of a list from one on, and the end of the list. `one` writes an item. The rest of a long list is left
 * out, with a placeholder in its position.
 */
export function writeItems(values: readonly unknown[], from: number, one: (value: unknown) => string): string {
  let json = '';
  for (let at = from; at < values.length; at++) {
    if (json.length > LARGE_LIST && leftOut !== undefined) {
      return json + leaveOut(new RestOfList(() => writeItems(values, at, one)));
    }
    json += (at === 0 ? '' : ',') + one(values[at]);
  }
  return `${json}]`;
}

function isWrittenAtOnce(size: number): boolean {
  if (size > SMALL_SIZE && written + size > LARGE_SIZE && leftOut !== undefined) return false;
  written += size;
  return true;
}

function leaveOut(value: LeftOut): string {
  leftOut?.push(value);
  return PLACEHOLDER;
}

/** Returns whether nothing was left out of a text. */
export function isComplete(text: string): boolean {
  return !text.includes(PLACEHOLDER);
}

/** Runs `write`. Returns its text together with the values that it has left out. */
export function collectLargeValues(write: () => string): {
  readonly text: string;
  readonly values: readonly LeftOut[];
} {
  const values: LeftOut[] = [];
  leftOut = values;
  written = 0;
  try {
    return { text: write(), values };
  } finally {
    leftOut = undefined;
  }
}

/** Returns the parts of a written text: its strings, with the values that were left out between them. */
export function partsOf(text: string, values: readonly LeftOut[]): Part[] {
  if (values.length === 0) return [text];
  return text.split(PLACEHOLDER).flatMap((part, i) => {
    const value = values[i];
    return value === undefined ? [part] : [part, value];
  });
}
