import { foldCluster, Kind, kindOf, pageOf } from './characters.js';

/** Holds a text in the form in which it is compared. */
export interface Folded {
  readonly text: string;
  /**
   * For each unit of `text` its offset in the original, followed by the original's length; undefined when all offsets
   * are equal.
   */
  readonly origins: Int32Array | undefined;
}

const BEYOND_ASCII = /[\u0080-\uffff]/;

/** Folds width, case, accents and traditional Chinese; apostrophes become `'`. */
export function fold(text: string): Folded {
  if (!BEYOND_ASCII.test(text)) return { text: text.toLowerCase(), origins: undefined };
  const output = createOutput(text.length);
  let at = 0;
  while (at < text.length) at = foldNext(text, at, output);
  return finish(output, text.length);
}

/** Returns the range of the original that corresponds to a range of the folded text. */
export function originalRange(folded: Folded, start: number, end: number): [number, number] {
  if (folded.origins === undefined) return [start, end];
  const from = folded.origins[start] ?? start;
  return [from, Math.max(folded.origins[end] ?? end, from + 1)];
}

interface Output {
  units: Uint16Array;
  length: number;
  origins: Int32Array | undefined;
  /** Bitwise union of all units, which shows whether each fits into one byte. */
  seen: number;
  /** Where the last cluster began, in the output and in the original. */
  clusterAt: number;
  clusterFrom: number;
}

function createOutput(length: number): Output {
  return {
    units: new Uint16Array(length + 64),
    length: 0,
    origins: undefined,
    seen: 0,
    clusterAt: 0,
    clusterFrom: 0,
  };
}

/** Folds the character at an offset and returns the offset after it. */
function foldNext(text: string, at: number, output: Output): number {
  const unit = text.charCodeAt(at);
  const page = pageOf(unit >> 8);
  const kind = page.kinds[unit & 255] as number;
  if (kind < Kind.IGNORED) {
    if (output.length === output.units.length) grow(output);
    const folded = page.folds[unit & 255] as number;
    output.clusterAt = output.length;
    output.clusterFrom = at;
    if (output.origins !== undefined) output.origins[output.length] = at;
    output.units[output.length++] = folded;
    output.seen |= folded;
    return at + 1;
  }
  return foldSpecial(text, at, kind, output);
}

/**
 * Maximum UTF-16 units of a cluster. A syllable in Hangul has three letters. Each character that composes folds its
 * cluster again, so that thousands of them in a row would take seconds.
 */
const MAX_CLUSTER = 8;

function foldSpecial(text: string, at: number, kind: number, output: Output): number {
  const size = kind === Kind.SURROGATE && (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
  const end = at + size;
  let folded = kind === Kind.IGNORED ? '' : foldedPoint(text.slice(at, end));
  if (kind === Kind.COMPOSING && output.length > 0 && end - output.clusterFrom <= MAX_CLUSTER) {
    folded = foldCluster(text.slice(output.clusterFrom, end));
    output.length = output.clusterAt;
  } else {
    output.clusterAt = output.length;
    output.clusterFrom = at;
  }
  if (folded.length !== end - output.clusterFrom) misalign(output);
  while (output.length + folded.length > output.units.length) grow(output);
  for (let i = 0; i < folded.length; i++) {
    const unit = folded.charCodeAt(i);
    if (output.origins !== undefined) {
      output.origins[output.length] = folded.length === size ? output.clusterFrom + i : output.clusterFrom;
    }
    output.units[output.length++] = unit;
    output.seen |= unit;
  }
  return end;
}

const points = new Map<string, string>();

function foldedPoint(character: string): string {
  let folded = points.get(character);
  if (folded === undefined) {
    folded = foldCluster(character);
    if (folded !== '' && kindOf(folded) === Kind.SEPARATOR) folded = ' '.repeat(character.length);
    points.set(character, folded);
  }
  return folded;
}

/** Starts recording offsets, which were equal up to here. */
function misalign(output: Output): void {
  if (output.origins !== undefined) return;
  output.origins = new Int32Array(output.units.length + 1);
  for (let i = 0; i < output.length; i++) output.origins[i] = i;
}

function grow(output: Output): void {
  const units = new Uint16Array(output.units.length * 2);
  units.set(output.units);
  output.units = units;
  if (output.origins !== undefined) {
    const origins = new Int32Array(units.length + 1);
    origins.set(output.origins);
    output.origins = origins;
  }
}

function finish(output: Output, originalLength: number): Folded {
  const units = output.units.subarray(0, output.length);
  const text =
    output.seen < 256
      ? Buffer.from(units).toString('latin1')
      : Buffer.from(units.buffer, units.byteOffset, units.byteLength).toString('utf16le');
  const origins = output.origins?.slice(0, output.length + 1);
  if (origins !== undefined) origins[output.length] = originalLength;
  return { text, origins };
}
