import MarkdownParser, { type MarkdownIt, type Token } from 'markdown-it';
import { MAX_DEPTH } from '../model/model.js';
import { type BlockRule, directive, directiveClose, footnote, frontMatter, math } from './rules/block.js';
import { footnoteRef, mathInline, mention, wikiLink } from './rules/inline.js';
import { boundedTable } from './rules/table.js';

export type { Token };

/** Parses everything at the deepest level as text: nothing is lost, and recursion stays bounded. */
const deepest: BlockRule = (state, startLine, endLine, silent) => {
  if (state.level < MAX_DEPTH || silent) return false;
  let end = startLine + 1;
  while (
    end < endLine &&
    !state.isEmpty(end) &&
    (state.sCount[end] ?? 0) >= state.blkIndent &&
    !directiveClose(state, end, endLine, true)
  ) {
    end += 1;
  }
  state.push('paragraph_open', 'p', 1).map = [startLine, end];
  const inline = state.push('inline', '', 0);
  inline.content = state.getLines(startLine, end, state.blkIndent, false).trim();
  inline.children = [];
  state.push('paragraph_close', 'p', -1);
  state.line = end;
  return true;
};

/**
 * Longest text of one block, in characters, in which inline Markdown is parsed; a longer one is taken as plain text. No
 * real page has one, and parsing it would take minutes.
 */
export const MAX_INLINE = 64 * 1024;

function createParser(): MarkdownIt {
  // Blocks never reach this depth, as `deepest` runs first; nested brackets and images in text may.
  const md = new MarkdownParser({ html: true, linkify: true, maxNesting: MAX_DEPTH + 10 });
  // Addresses stay as they are written; unsafe ones are removed when HTML is made.
  md.validateLink = () => true;
  md.normalizeLink = (url) => url;
  md.normalizeLinkText = (text) => text;
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: true, fuzzyIP: false });
  md.linkify.add('ftp:', null).add('//', null);
  md.core.ruler.at('inline', (state) => {
    for (const token of state.tokens) {
      if (token.type !== 'inline') continue;
      token.children = [];
      if (token.content.length <= MAX_INLINE) md.inline.parse(token.content, md, state.env, token.children);
      else token.children.push(Object.assign(new state.Token('text', '', 0), { content: token.content }));
    }
  });
  const { ruler } = md.block;
  const interrupting = { alt: ['paragraph', 'reference', 'blockquote', 'list'] };
  const [table] = ruler.getRules('');
  if (table !== undefined) ruler.at('table', boundedTable(table as BlockRule), { alt: ['paragraph', 'reference'] });
  ruler.before('table', 'front_matter', frontMatter);
  ruler.before('front_matter', 'deepest', deepest);
  ruler.before('deepest', 'directive_close', directiveClose, interrupting);
  ruler.before('fence', 'math_block', math, interrupting);
  ruler.before('fence', 'directive', directive, interrupting);
  ruler.before('reference', 'footnote', footnote, { alt: ['paragraph', 'reference'] });
  md.inline.ruler.before('link', 'wiki_link', wikiLink);
  md.inline.ruler.before('link', 'footnote_ref', footnoteRef);
  md.inline.ruler.before('link', 'mention', mention);
  md.inline.ruler.before('escape', 'math_inline', mathInline);
  return md;
}

const parser = createParser();

export const BYTE_ORDER_MARK = '\uFEFF';

/** State that a parse starts with: labels of footnotes that count as defined elsewhere. */
export interface Environment {
  footnotes?: Set<string>;
}

/** Parses a text into tokens. A byte order mark at its beginning, as editors write it, is no part of the first line. */
export const tokenize = (text: string, env: Environment = {}): Token[] =>
  parser.parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text, { ...env });

/** Parses a text as inline content only, and returns its tokens. */
export const tokenizeInline = (text: string, env: Environment = {}): Token[] =>
  parser.parseInline(text, { ...env })[0]?.children ?? [];

/** Resolves backslash escapes and entities, as in an address or after a fence. */
export const unescapeMarkdown = (text: string): string => parser.utils.unescapeAll(text);
