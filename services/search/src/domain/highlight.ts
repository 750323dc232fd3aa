import { type Folded, originalRange } from '@commonplace/kit/analysis';
import { endOfFrontMatter, type Markup, markupIn, Shown } from './markup.js';
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
const CELL_SEPARATOR = '·';
const SPACE = /\s/;

interface Range {
  readonly start: number;
  readonly end: number;
  readonly group: number;
}

/**
 * Returns the excerpt that matches the most groups, closest together, or the beginning of the text when there are no
 * matches. `matches` are sorted. Of Markdown it shows the text without what only formats it, unless that matches.
 */
export function snippetOf(
  original: string,
  folded: Folded,
  matches: readonly Match[],
  { isMarkdown = false }: { readonly isMarkdown?: boolean } = {},
): Snippet {
  const ranges = matches.map(({ start, end, group }): Range => {
    const [from, to] = originalRange(folded, start, end);
    return { start: from, end: Math.min(to, from + CLUSTER_UNITS), group };
  });
  const cluster = bestCluster(ranges);
  const markup = isMarkdown ? markupAround(original, cluster, ranges) : undefined;
  const front = isMarkdown ? endOfFrontMatter(original) : 0;
  const begin = ranges.some((range) => range.start < front) ? 0 : front;
  const [start, end] = around(original, cluster, begin, markup);
  const first = ranges.find((range) => range.start >= start && range.end <= end);
  const shown = { original, begin, start, end, markup };
  return { ...compose(shown, ranges), place: placeAt(original, first?.start ?? start) };
}

/** Units before and after a cluster whose markup is known: so much of a text may be links and the like. */
const MARKUP_UNITS = 4 * SNIPPET_UNITS;

function markupAround(text: string, cluster: { start: number; end: number }, ranges: readonly Range[]): Markup {
  const end = Math.min(text.length, cluster.end + endOfFrontMatter(text) + MARKUP_UNITS);
  const markup = markupIn(text, Math.max(0, cluster.start - MARKUP_UNITS), end);
  const { from, units } = markup;
  for (const range of ranges) {
    if (range.end <= from || range.start >= end) continue;
    // A match in what is not shown, such as the address of a link, shows all of that.
    let [first, last] = [Math.max(range.start, from), Math.min(range.end, end)];
    while (first > from && units[first - from] === Shown.HIDDEN && units[first - 1 - from] === Shown.HIDDEN) first--;
    while (last < end && units[last - 1 - from] === Shown.HIDDEN && units[last - from] === Shown.HIDDEN) last++;
    units.fill(Shown.PLAIN, first - from, last - from);
  }
  return markup;
}

const isHidden = (markup: Markup | undefined, at: number): boolean =>
  markup !== undefined && markup.units[at - markup.from] === Shown.HIDDEN;

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

/** Returns the range at or after `begin` to show for a cluster, cut at white space if there is any. */
function around(
  text: string,
  cluster: { start: number; end: number },
  begin: number,
  markup: Markup | undefined,
): [number, number] {
  if (text.length - begin <= SNIPPET_UNITS) return [begin, text.length];
  const at = Math.max(begin, cluster.start);
  let start = at;
  for (let left = LEAD_UNITS; start > Math.max(begin, markup?.from ?? 0) && left > 0; ) {
    if (!isHidden(markup, --start)) left--;
  }
  if (start > begin) {
    const space = text.slice(start, at).search(SPACE);
    if (space >= 0) start += space + 1;
    else if (isLowSurrogate(text, start)) start++;
  }
  let end = start;
  const last = markup?.to ?? text.length;
  for (let left = SNIPPET_UNITS; end < last && left > 0; end++) {
    if (!isHidden(markup, end)) left--;
  }
  if (end < text.length) {
    for (let cut = end; cut > Math.max(cluster.end, start) && cut > end - LEAD_UNITS; cut--) {
      if (SPACE.test(text.charAt(cut))) return [start, cut];
    }
    if (isLowSurrogate(text, end)) end--;
  }
  return [start, end];
}

function isLowSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}

/** A part of a text to show, which begins at `begin`. */
interface ShownPart {
  readonly original: string;
  readonly begin: number;
  readonly start: number;
  readonly end: number;
  readonly markup: Markup | undefined;
}

/** Returns a part of a text with collapsed white space and without markup, and the ranges within it. */
function compose({ original, begin, start, end, markup }: ShownPart, ranges: readonly Range[]): Omit<Snippet, 'place'> {
  const places = new Int32Array(end - start + 1);
  let text = start > begin ? ELLIPSIS : '';
  let points = text.length;
  let spaced = true;
  let from = start;
  for (let at = start; at < end; at++) {
    places[at - start] = points;
    const unit = original.charCodeAt(at);
    const how = markup?.units[at - markup.from] ?? Shown.PLAIN;
    if (how !== Shown.PLAIN) {
      text += original.slice(from, at);
      from = at + 1;
      if (how === Shown.HIDDEN) continue;
      text += CELL_SEPARATOR;
      points++;
      spaced = false;
    } else if (isSpace(unit)) {
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
