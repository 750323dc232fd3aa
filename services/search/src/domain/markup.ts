/** How a unit of Markdown is shown in an excerpt of plain text. */
export const Shown = {
  /** As it is. */
  PLAIN: 0,
  /** Left out, as it only formats. */
  HIDDEN: 1,
  /** As a separator: a bar between the cells of a table. */
  SEPARATOR: 2,
} as const;

/** Holds how the units of a part of a text are shown. */
export interface Markup {
  /** Offset in the text of the first of `units`. */
  readonly from: number;
  /** Offset behind which more markup could begin than `units` know of. */
  readonly to: number;
  readonly units: Uint8Array;
}

/** Units of a line that are read before and after the part which is asked for, so that what begins or ends there is known. */
const BESIDE_UNITS = 500;
/** Maximum length of front matter. */
const MAX_FRONT_MATTER = 16_384;

/** How front matter begins: without a name in its second line, `---` is a rule. */
const FRONT_MATTER = /^---[ \t]*\r?\n[A-Za-z_][\w -]*:\s/;

/** Returns where the text behind the front matter of a Markdown text begins; 0 if there is none. */
export function endOfFrontMatter(text: string): number {
  if (!FRONT_MATTER.test(text)) return 0;
  const close = /\n---[ \t]*(?:\r?\n|$)/.exec(text.slice(3, MAX_FRONT_MATTER));
  return close === null ? 0 : 3 + close.index + close[0].length;
}

/** Returns how the units between two offsets of a Markdown text are shown. */
export function markupIn(text: string, start: number, to: number): Markup {
  const end = Math.min(text.length, to + BESIDE_UNITS);
  const lineStart = start === 0 ? 0 : text.lastIndexOf('\n', start - 1) + 1;
  const from = start - lineStart > BESIDE_UNITS ? start : lineStart;
  const units = new Uint8Array(end - from);
  const write = (at: number, to: number, how: number): void => void units.fill(how, at - from, to - from);
  let isCode = endsInCode(text, from);
  for (let at = from; at < end; ) {
    const newline = text.indexOf('\n', at);
    const lineEnd = newline < 0 || newline > end ? end : newline;
    const line = text.slice(at, lineEnd);
    if (at === lineStart || at !== from) {
      if (FENCE.test(line)) {
        isCode = !isCode;
        write(at, lineEnd, Shown.HIDDEN);
      } else if (!isCode) blockMarkup(line, at, write);
    }
    if (!isCode) inlineMarkup(line, at, write);
    at = lineEnd + 1;
  }
  return { from, to, units };
}

type Write = (at: number, to: number, how: number) => void;

const FENCE = /^ {0,3}(?:`{3}|~{3})/;

/** Returns whether a text ends within fenced code at an offset where a line begins. */
function endsInCode(text: string, at: number): boolean {
  let fences = at > 0 && FENCE.test(text) ? 1 : 0;
  for (const fence of ['\n```', '\n~~~']) {
    for (let found = text.indexOf(fence); found >= 0 && found < at - 1; found = text.indexOf(fence, found + 4))
      fences++;
  }
  return fences % 2 === 1;
}

/** A horizontal rule or the underline of a heading, and the line that begins or ends a directive. */
const RULE = /^[ \t]*(?:(?:[-=*_][ \t]*){3,}$|:{3})/;
/** Together with two hyphens the line below the head of a table. */
const TABLE_RULE = /^[ \t:|-]*$/;
/** Signs of a quote, then those of a callout, a heading or an item of a list. */
const BLOCK = /^[ \t]*(?:>[ \t]?)*(?:\[![A-Za-z]+\]|#{1,6}(?=[ \t])|[-*+][ \t]+(?:\[[ xX]\](?=[ \t]))?)?/;

function blockMarkup(line: string, at: number, write: Write): void {
  if (RULE.test(line) || (TABLE_RULE.test(line) && line.includes('--'))) {
    write(at, at + line.length, Shown.HIDDEN);
    return;
  }
  const [signs = ''] = BLOCK.exec(line) ?? [];
  write(at, at + signs.length, Shown.HIDDEN);
  if (!/^[ \t]*\|/.test(line)) return;
  const bars = [...line.matchAll(/(?<!\\)\|/g)].map(({ index }) => index);
  const last = line.trimEnd().length - 1;
  for (const [i, bar] of bars.entries()) {
    write(at + bar, at + bar + 1, i === 0 || bar === last ? Shown.HIDDEN : Shown.SEPARATOR);
  }
}

const CODE = /(`{1,3})(?!`)([^`]{1,500}?)\1(?!`)/g;
/** What surrounds a text that is shown, which is the group of its name. */
const AROUND: readonly RegExp[] = [
  /!?\[(?<shown>[^\][]{0,500})\]\([^()\s]{0,2000}(?:\s"[^"]{0,500}")?\)/dg,
  /\[\[(?:[^\][|]{1,300}\|)?(?<shown>[^\][|]{1,300})\]\]/dg,
  /<(?<shown>https?:\/\/[^<>\s]{1,2000})>/dg,
  /(\*{1,3})(?=\S)(?<shown>[^*]{1,500}?)(?<=\S)\1/dg,
  /(?<![\p{L}\p{N}_])(_{1,3})(?=\S)(?<shown>[^_]{1,500}?)(?<=\S)\1(?![\p{L}\p{N}_])/dgu,
  /~~(?=\S)(?<shown>[^~]{1,500}?)~~/dg,
];
const HIDDEN: readonly RegExp[] = [/<!--.{0,500}?-->|<\/?(?!https?:)[A-Za-z][^<>]{0,500}>/g, /\\(?=[!-/:-@[-`{-~])/g];

function inlineMarkup(line: string, at: number, write: Write): void {
  const codes = [...line.matchAll(CODE)].map(({ index, 0: whole, 1: ticks = '' }) => {
    const end = index + whole.length;
    write(at + index, at + index + ticks.length, Shown.HIDDEN);
    write(at + end - ticks.length, at + end, Shown.HIDDEN);
    return { start: index, end };
  });
  const isInCode = (from: number): boolean => codes.some(({ start, end }) => from >= start && from < end);
  for (const pattern of AROUND) {
    for (const { index, 0: whole, indices } of line.matchAll(pattern)) {
      const [from, to] = indices?.groups?.shown ?? [index, index];
      if (isInCode(index)) continue;
      write(at + index, at + from, Shown.HIDDEN);
      write(at + to, at + index + whole.length, Shown.HIDDEN);
    }
  }
  for (const pattern of HIDDEN) {
    for (const { index, 0: whole } of line.matchAll(pattern)) {
      if (!isInCode(index)) write(at + index, at + index + whole.length, Shown.HIDDEN);
    }
  }
}
