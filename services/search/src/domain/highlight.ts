import { type Folded, originalRange } from '@commonplace/kit/analysis';
import type { Match } from './match.js';

/** Holds an excerpt of a text and the positions of matches in it. */
export interface Snippet {
  readonly text: string;
  /** `[start, end)` in code points of `text`, sorted and disjoint. */
  readonly ranges: readonly (readonly [number, number])[];
  /** Place of its first range in the original text, or of its beginning when it has none. */
  readonly place: Place;
}

/** Describes a place in a text: an offset in UTF-16 units, and the first characters of the text there. */
export interface Place {
  readonly offset: number;
  readonly text: string;
}

/** Characters that identify a place. */
const PLACE_CHARS = 40;

/** Returns the place of the first character at or after an offset that is not white space. */
export function placeAt(text: string, offset: number): Place {
  let at = offset;
  while (at < text.length && isSpace(text.charCodeAt(at))) at++;
  return { offset: at, text: text.slice(at, at + PLACE_CHARS) };
}

/** Length of a snippet in UTF-16 units. */
const SNIPPET_UNITS = 240;
/** Units before the first match, if there are as many. */
const LEAD_UNITS = 60;
/** Units in which the matches of a snippet lie. Of a longer word, which can have megabytes, the beginning is marked. */
const CLUSTER_UNITS = SNIPPET_UNITS - LEAD_UNITS;
const ELLIPSIS = '…';
const SPACE = /\s/;

interface Range {
  readonly start: number;
  readonly end: number;
  readonly group: number;
}

/**
 * Returns the excerpt that matches the most groups, closest together, or the beginning of the text when there are no
 * matches. `matches` are sorted.
 */
export function snippetOf(original: string, folded: Folded, matches: readonly Match[]): Snippet {
  const ranges = matches.map(({ start, end, group }): Range => {
    const [from, to] = originalRange(folded, start, end);
    return { start: from, end: Math.min(to, from + CLUSTER_UNITS), group };
  });
  const cluster = bestCluster(ranges);
  const [start, end] = original.length <= SNIPPET_UNITS ? [0, original.length] : around(original, cluster);
  const first = ranges.find((range) => range.start >= start && range.end <= end);
  return { ...compose(original, start, end, ranges), place: placeAt(original, first?.start ?? start) };
}

/** Returns the range of matches that fits into a snippet and covers the most groups. */
function bestCluster(ranges: readonly Range[]): { start: number; end: number } {
  let best = { start: 0, end: 0 };
  let bestWorth = -1;
  for (let first = 0; first < ranges.length; first++) {
    const { start } = ranges[first] as Range;
    const groups = new Set<number>();
    let end = start;
    let last = first;
    for (; last < ranges.length; last++) {
      const range = ranges[last] as Range;
      if (range.end - start > CLUSTER_UNITS && last > first) break;
      groups.add(range.group);
      end = Math.max(end, range.end);
    }
    const worth = groups.size * 100 + (last - first);
    if (worth > bestWorth) {
      bestWorth = worth;
      best = { start, end };
    }
  }
  return best;
}

/** Returns the range to show for a cluster, cut at white space if there is any. */
function around(text: string, cluster: { start: number; end: number }): [number, number] {
  let start = Math.max(0, cluster.start - LEAD_UNITS);
  if (start > 0) {
    const space = text.slice(start, cluster.start).search(SPACE);
    if (space >= 0) start += space + 1;
    else if (isLowSurrogate(text, start)) start++;
  }
  let end = Math.min(text.length, start + SNIPPET_UNITS);
  if (end < text.length) {
    for (let at = end; at > cluster.end && at > end - LEAD_UNITS; at--) {
      if (SPACE.test(text.charAt(at))) return [start, at];
    }
    if (isLowSurrogate(text, end)) end--;
  }
  return [start, end];
}

function isLowSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}

/** Returns the text from `start` to `end` with collapsed white space, and the ranges within it. */
function compose(original: string, start: number, end: number, ranges: readonly Range[]): Omit<Snippet, 'place'> {
  const places = new Int32Array(end - start + 1);
  let text = start > 0 ? ELLIPSIS : '';
  let points = text.length;
  let spaced = true;
  let from = start;
  for (let at = start; at < end; at++) {
    places[at - start] = points;
    const unit = original.charCodeAt(at);
    if (isSpace(unit)) {
      text += original.slice(from, at);
      if (!spaced) text += ' ';
      if (!spaced) points++;
      spaced = true;
      from = at + 1;
    } else {
      spaced = false;
      // The second half of a surrogate pair is not a code point of its own.
      if ((unit & 0xfc00) !== 0xdc00) points++;
    }
  }
  places[end - start] = points;
  text += original.slice(from, end);
  const found: [number, number][] = [];
  for (const range of ranges) {
    if (range.start < start || range.end > end) continue;
    found.push([places[range.start - start] as number, places[range.end - start] as number]);
  }
  return { text: end < original.length ? text.trimEnd() + ELLIPSIS : text.trimEnd(), ranges: merge(found) };
}

function isSpace(unit: number): boolean {
  return unit <= 0x20 || unit === 0xa0 || unit === 0x3000 || unit === 0x2028 || unit === 0x2029 || unit === 0x85;
}

/** Joins ranges that touch or overlap. */
function merge(ranges: readonly [number, number][]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [start, end] of ranges) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}
