import MarkdownParser, { type Token } from 'markdown-it';
import { sourceItem } from '../common/item.js';
import { cleanName } from '../common/text.js';
import type { ItemContent, SourceItem } from '../port.js';
import { frontMatterLength } from './front-matter.js';
import { headingText } from './page.js';

/** Holds what follows a heading of level 1, or with the front matter what precedes the first one. */
interface Section {
  readonly title?: string;
  readonly markdown: string;
}

/** Sections beyond which a page is not split, as for HTML. */
const MAX_SECTIONS = 1000;

/** Parses blocks alone, which are all that a split depends on. */
const parser = new MarkdownParser({ html: true, maxNesting: 100 });
parser.core.ruler.enableOnly(['normalize', 'block']);

/** Splits a page at its headings of level 1; returns no sections when there are fewer than two. */
export function splitPage(markdown: string): Section[] {
  const from = frontMatterLength(markdown);
  const body = markdown.slice(from);
  const tokens = parser.parse(body, {});
  const headings = tokens.flatMap(({ type, tag, level, map }, i) => {
    if (type !== 'heading_open' || tag !== 'h1' || level > 0 || map === null) return [];
    const title = headingText(tokens[i + 1]?.content ?? '');
    return title === undefined ? [] : [{ title, line: map[0], end: map[1] }];
  });
  if (headings.length < 2 || headings.length > MAX_SECTIONS) return [];
  const lines = body.split(LINE_START);
  const definitions = definitionsIn(tokens, lines);
  /** Returns the lines of a section, with the definitions elsewhere that they refer to. */
  const section = (start: number, end: number): string => {
    const text = trimmed(lines.slice(start, end).join(''));
    const far = definitionsFor(text, definitions).filter(({ line }) => line < start || line >= end);
    return [text, ...far.map((one) => one.text)].filter((part) => part !== '').join('\n');
  };
  const [first] = headings;
  return [
    { markdown: markdown.slice(0, from) + section(0, first?.line ?? 0) },
    ...headings.map(({ title, end }, i) => ({ title, markdown: section(end, headings[i + 1]?.line ?? lines.length) })),
  ];
}

/** Matches where a line begins, with the line ends that the parser knows. */
const LINE_START = /(?<=\n|\r(?!\n))/;

/** Removes blank lines at the beginning and at the end. */
function trimmed(text: string): string {
  const inner = text.replace(/^(?:[ \t]*(?:\r\n?|\n))+/, '').trimEnd();
  return inner === '' ? '' : `${inner}\n`;
}

/** The definition of a link or a footnote, which a text anywhere in the page can refer to. */
interface Definition {
  readonly line: number;
  readonly text: string;
}

const LABEL = /^ {0,3}\[((?:[^[\]\\\n]|\\.){1,999})\]:/;
const FOOTNOTE = /^\[\^[^\]\s]+\]:/;
const REFERENCE = /\[((?:[^[\]\\\n]|\\.){1,999})\]/g;

/** Returns the definitions by their labels. */
function definitionsIn(tokens: readonly Token[], lines: readonly string[]): Map<string, Definition> {
  const blocks = tokens.flatMap(({ type, level, map }, i) => {
    if (level > 0 || map === null) return [];
    const defines = type === 'reference_definition' || FOOTNOTE.test(tokens[i + 1]?.content ?? '');
    return [{ type, defines, line: map[0], end: map[1] }];
  });
  const found = new Map<string, Definition>();
  for (const [i, { defines, line, end }] of blocks.entries()) {
    const label = defines ? LABEL.exec(lines[line] ?? '')?.[1] : undefined;
    if (label === undefined || found.has(folded(label))) continue;
    const next = blocks[i + 1];
    // Further paragraphs of a footnote are indented, which is code elsewhere.
    const goesOn = label.startsWith('^') && next?.type === 'code_block';
    found.set(folded(label), { line, text: trimmed(lines.slice(line, goesOn ? next.end : end).join('')) });
  }
  return found;
}

function definitionsFor(text: string, definitions: ReadonlyMap<string, Definition>): Definition[] {
  if (definitions.size === 0) return [];
  const labels = new Set(Array.from(text.matchAll(REFERENCE), ([, label = '']) => folded(label)));
  return [...labels].flatMap((label) => definitions.get(label) ?? []);
}

const folded = (label: string): string => label.trim().replace(/\s+/g, ' ').toLowerCase();

const SECTION = /#(\d+)$/;

/** Returns the items of a page's sections below its own item. */
export function sectionItems(page: SourceItem, [, ...sections]: readonly Section[]): SourceItem[] {
  return sections.map(({ title }, i) =>
    sourceItem({ path: `${page.path}#${i + 1}`, parent: page.path, kind: 'document', name: cleanName(title) }),
  );
}

/** Returns the content of an item: its section, or for the page itself what precedes the first one. */
export function sectionOf({ path }: SourceItem, page: ItemContent, all: readonly Section[]): ItemContent {
  const [intro, ...sections] = all;
  if (intro === undefined) return page;
  const at = SECTION.exec(path)?.[1];
  if (at === undefined) return { ...page, title: pageTitle(page, all), markdown: intro.markdown };
  const { title, markdown } = sections[Number(at) - 1] ?? {};
  const { author, createdAt, updatedAt, wikiLinks } = page;
  return { title, markdown: markdown ?? '', author, createdAt, updatedAt, wikiLinks };
}

/** Returns the title of a page; not that of its first section, with which it may begin. */
function pageTitle({ title, metadata }: ItemContent, [intro, first]: readonly Section[]): string | undefined {
  const { markdown = '' } = intro ?? {};
  const beginsWithSection = markdown.slice(frontMatterLength(markdown)).trim() === '';
  return beginsWithSection && title === first?.title && metadata?.title === undefined ? undefined : title;
}
