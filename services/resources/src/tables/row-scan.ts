import type { Cell } from './column.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;

/**
 * Returns the value at a place in an encoded row, which begins at `start`: one of the first values, which are the row's
 * own metadata. It passes over the others, which takes a tenth of the time of parsing the row.
 */
export function metadataAt(bytes: Buffer, start: number, place: number): Cell {
  const from = passValues(bytes, start + 1, place);
  return valueBetween(bytes, from, passValue(bytes, from));
}

/** Number of values of a row before the list of its cells. */
const METADATA = 5;

/** Returns the cell at a slot of an encoded row, which begins at `start`; null beyond the last one. */
export function cellAt(bytes: Buffer, start: number, slot: number): Cell {
  let at = passValues(bytes, start + 1, METADATA) + 1;
  if (bytes[at] === CLOSE_LIST) return null;
  for (let passed = 0; passed < slot; passed++) {
    at = passValue(bytes, at);
    if (bytes[at] !== COMMA) return null;
    at++;
  }
  return valueBetween(bytes, at, passValue(bytes, at));
}

/** Passes over values, each with the comma behind it. Returns the place where the next value begins. */
function passValues(bytes: Buffer, from: number, count: number): number {
  let at = from;
  for (let passed = 0; passed < count; passed++) at = passValue(bytes, at) + 1;
  return at;
}

/** Returns the place behind the value that begins at a place. Throws if the bytes end within it. */
function passValue(bytes: Buffer, from: number): number {
  const first = bytes[from];
  if (first === QUOTE) return passString(bytes, from);
  if (first === OPEN_LIST || first === OPEN_OBJECT) return passNested(bytes, from);
  let at = from;
  while (at < bytes.length && bytes[at] !== COMMA && bytes[at] !== CLOSE_LIST) at++;
  return at;
}

function passString(bytes: Buffer, from: number): number {
  for (let at = from + 1; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at++;
  }
  throw new SyntaxError('a row ends within a text');
}

function passNested(bytes: Buffer, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; ) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = passString(bytes, at);
      continue;
    }
    at++;
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++;
    else if ((byte === CLOSE_LIST || byte === CLOSE_OBJECT) && --depth === 0) return at;
  }
  throw new SyntaxError('a row ends within a list');
}

function valueBetween(bytes: Buffer, from: number, to: number): Cell {
  switch (bytes[from]) {
    case LETTER_N:
      return null;
    case LETTER_T:
      return true;
    case LETTER_F:
      return false;
    case QUOTE: {
      const text = bytes.toString('utf8', from + 1, to - 1);
      return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
    }
    case OPEN_LIST:
    case OPEN_OBJECT:
      return JSON.parse(bytes.toString('utf8', from, to)) as Cell;
    default:
      return Number(bytes.toString('latin1', from, to));
  }
}
