import MarkdownParser, { type MarkdownIt, type Token } from 'markdown-it';
import { htmlChanges, imagesInHtml } from './html-links.js';
import { type Change, changed, fitted, type Redirect } from './links.js';
import { ordinaryLink, wikiLinkOf, wikiLinkRule } from './wiki-links.js';

/**
 * Characters without a block break beyond which a text is not parsed for inline marks, as in the parser of documents:
 * it would take minutes.
 */
const MAX_INLINE = 64 * 1024;

const parser = createParser();
/** Also parses `[[page]]`, which is plain text in Markdown of some other products. */
const wikiParser = createParser();
wikiParser.inline.ruler.before('link', 'wiki_link', wikiLinkRule);

/** Creates the parser of documents, reduced to what matters here: which parts are code, links and HTML. */
function createParser(): MarkdownIt {
  const md = new MarkdownParser({ html: true, maxNesting: 100 });
  md.validateLink = () => true;
  md.normalizeLink = (url) => url;
  md.normalizeLinkText = (text) => text;
  md.core.ruler.at('inline', (state) => {
    for (const token of state.tokens) {
      if (token.type !== 'inline') continue;
      token.children = [];
      if (token.content.length <= MAX_INLINE) md.inline.parse(token.content, md, state.env, token.children);
    }
  });
  md.core.ruler.disable(['replacements', 'smartquotes', 'linkify'], true);
  return md;
}

/**
 * Returns Markdown with its links redirected: inline links, link definitions, and links in embedded HTML. Only
 * destinations change; code is left alone. `from` is the offset of the text after any front matter. With `wikiLinks`,
 * `[[page]]` and `![[image.png]]` become ordinary links and images if their target is known.
 */
export function redirectMarkdown(
  text: string,
  redirect: Redirect,
  { from = 0, wikiLinks = false }: { readonly from?: number; readonly wikiLinks?: boolean } = {},
): string {
  const body = from === 0 ? text : text.slice(from);
  // Without one of these there is no link.
  if (!(wikiLinks ? /\]\(|\]:|<[a-z]|\[\[/i : /\]\(|\]:|<[a-z]/i).test(body)) return text;
  const finder = createFinder(body, redirect);
  const tokens = (wikiLinks ? wikiParser : parser).parse(body, {});
  for (const token of tokens) finder.block(token);
  finder.definitions(tokens);
  const changes = finder.changes.sort((a, b) => a.start - b.start);
  return text.slice(0, from) + changed(body, changes);
}

/**
 * Returns the URLs of the images in Markdown and its embedded HTML. `from` is the offset of the text after any front
 * matter.
 */
export function imagesInMarkdown(text: string, from = 0): string[] {
  const body = from === 0 ? text : text.slice(from);
  if (!/!\[|<img/i.test(body)) return [];
  const tokens = parser.parse(body, {}).flatMap((token) => [token, ...(token.children ?? [])]);
  return tokens.flatMap((token) => {
    if (token.type === 'image') return String(token.attrGet('src') ?? '');
    return token.type.startsWith('html_') ? imagesInHtml(token.content) : [];
  });
}

interface Finder {
  readonly changes: Change[];
  block(token: Token): void;
  definitions(tokens: readonly Token[]): void;
}

/**
 * Finds the positions of a text's links. The parser gives only the links in their order and the lines of their blocks.
 */
function createFinder(text: string, redirect: Redirect): Finder {
  const lines = lineStarts(text);
  const changes: Change[] = [];
  let cursor = 0;
  let limit = text.length;

  const move = (to: number): void => {
    if (to >= 0) cursor = to;
  };

  /**
   * Moves the cursor past the text of a token, so that it is not mistaken for a later one. Returns its position, or -1.
   */
  const pass = (content: string): number => {
    const at = text.indexOf(content, cursor);
    if (at < 0 || at >= limit) return -1;
    move(at + content.length);
    return at;
  };

  /** Redirects the destination `href` of a link whose text ends at the cursor. */
  function destination(href: string): void {
    for (let at = text.indexOf('](', cursor); at >= 0 && at < limit; at = text.indexOf('](', at + 2)) {
      let start = at + 2;
      while (/\s/.test(text[start] ?? '')) start++;
      const found = parser.helpers.parseLinkDestination(text, start, text.length);
      if (!found.ok || found.str !== href) continue;
      const inBrackets = text[start] === '<';
      put(inBrackets ? start + 1 : start, inBrackets ? found.pos - 1 : found.pos, href);
      move(found.pos);
      return;
    }
  }

  function put(start: number, end: number, href: string): void {
    const to = start === end ? undefined : redirect(href);
    if (to !== undefined) changes.push({ start, end, text: fitted(text.slice(start, end), href, to) });
  }

  /** Redirects a wiki link; in a cell of a table its `|` is escaped. */
  function wikiLink(token: Token): void {
    const { content } = token;
    const written = [content, content.replaceAll('|', '\\|')].find((one) => pass(one) >= 0);
    const to = written === undefined ? undefined : ordinaryLink(wikiLinkOf(token), redirect);
    if (written !== undefined && to !== undefined)
      changes.push({ start: cursor - written.length, end: cursor, text: to });
  }

  function html(content: string): void {
    const at = pass(content);
    if (at >= 0) changes.push(...htmlChanges(content, redirect, at));
  }

  function inline(children: readonly Token[]): void {
    const open: string[] = [];
    for (const child of children) {
      if (child.type === 'code_inline') pass(child.content.split('\n')[0] as string);
      else if (child.type === 'html_inline') html(child.content);
      else if (child.type === 'wiki_link') wikiLink(child);
      else if (child.type === 'image') {
        inline(child.children ?? []);
        destination(String(child.attrGet('src') ?? ''));
      } else if (child.type === 'link_open') {
        open.push(child.markup === 'autolink' ? '' : String(child.attrGet('href') ?? ''));
      } else if (child.type === 'link_close') {
        const href = open.pop() ?? '';
        if (href !== '') destination(href);
      } else if (child.type === 'text' && child.content.length > 3) {
        pass(child.content);
      }
    }
  }

  return {
    changes,
    block(token) {
      const { map } = token;
      if (map !== null) {
        cursor = Math.max(cursor, lines[map[0]] ?? 0);
        limit = lines[map[1]] ?? text.length;
      }
      if (token.type === 'inline') inline(token.children ?? []);
      else if (token.type === 'html_block') {
        const start = lines[map?.[0] ?? 0] ?? 0;
        changes.push(...htmlChanges(text.slice(start, limit), redirect, start));
        cursor = limit;
      }
    },
    definitions(tokens) {
      const verbatim = tokens.filter(({ type }) => type === 'fence' || type === 'code_block' || type === 'html_block');
      const isVerbatim = (line: number) => verbatim.some(({ map }) => map !== null && line >= map[0] && line < map[1]);
      for (const found of text.matchAll(DEFINITION)) {
        const start = found.index + found[0].length;
        const { ok, pos, str } = parser.helpers.parseLinkDestination(text, start, text.length);
        if (!ok || str === '' || isVerbatim(lineAt(lines, found.index))) continue;
        if (text[start] === '<') put(start + 1, pos - 1, str);
        else put(start, pos, str);
      }
    },
  };
}

/** Matches `[label]:` at the beginning of a line, also in quotes and lists, but not footnotes. */
const DEFINITION = /^[ \t>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?[ \t>]*\[(?!\^)(?:[^[\]\\\n]|\\.)+\]:[ \t]*\n?[ \t]*/gm;

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function lineAt(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] as number) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
