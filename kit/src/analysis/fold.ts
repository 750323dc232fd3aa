import { describeUnit, foldCluster, Kind, kindOf, pageOf } from './characters.js';
import { compose } from './compose.js';

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
  /** Where the output of the last character begins. */
  clusterAt: number;
}

function createOutput(length: number): Output {
  return {
    units: new Uint16Array(length + 64),
    length: 0,
    origins: undefined,
    seen: 0,
    clusterAt: 0,
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
    if (output.origins !== undefined) output.origins[output.length] = at;
    output.units[output.length++] = folded;
    output.seen |= folded;
    return at + 1;
  }
  return foldSpecial(text, at, kind, output);
}

function foldSpecial(text: string, at: number, kind: number, output: Output): number {
  if (kind === Kind.UNKNOWN) {
    describeUnit(text.charCodeAt(at));
    return foldNext(text, at, output);
  }
  if (kind === Kind.COMPOSING && composeWithLast(text.charCodeAt(at), output)) return at + 1;
  const size = kind === Kind.SURROGATE && (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
  append(kind === Kind.IGNORED ? '' : foldedPoint(text.slice(at, at + size)), at, size, output);
  return at + size;
}

/** Composes a character with the last folded one, if that belongs to the character before it. */
function composeWithLast(unit: number, output: Output): boolean {
  if (output.length === output.clusterAt) return false;
  const composed = compose(output.units[output.length - 1] as number, unit);
  if (composed === 0) return false;
  misalign(output);
  output.units[output.length - 1] = composed;
  output.seen |= composed;
  return true;
}

function append(folded: string, at: number, size: number, output: Output): void {
  output.clusterAt = output.length;
  if (folded.length !== size) misalign(output);
  while (output.length + folded.length > output.units.length) grow(output);
  for (let i = 0; i < folded.length; i++) {
    const unit = folded.charCodeAt(i);
    if (output.origins !== undefined) output.origins[output.length] = folded.length === size ? at + i : at;
    output.units[output.length++] = unit;
    output.seen |= unit;
  }
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
