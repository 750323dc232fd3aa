import type { StateInline } from 'markdown-it';
import { labelsOf } from './block.js';

type InlineRule = (state: StateInline, silent: boolean) => boolean;

const DOLLAR = 0x24;
const BRACKET = 0x5b;
const AT = 0x40;
const BACKSLASH = 0x5c;

/** Parses `$TeX$` without blanks at its inner edges and without a digit after it, so that prices stay prices. */
export const mathInline: InlineRule = (state, silent) => {
  const { src, pos, posMax } = state;
  if (src.charCodeAt(pos) !== DOLLAR || pos + 2 >= posMax || /[\s$]/.test(src[pos + 1] ?? ' ')) return false;
  const memo = state.env as { dollar?: { src: string; from: number } };
  // Remembers a failed search, so that it is not repeated further on in the same text.
  if (memo.dollar?.src === src && pos >= memo.dollar.from) return false;
  let end = pos + 1;
  while (end < posMax && src.charCodeAt(end) !== DOLLAR) end += src.charCodeAt(end) === BACKSLASH ? 2 : 1;
  if (end >= posMax) {
    memo.dollar = { src, from: pos };
    return false;
  }
  if (/\s/.test(src[end - 1] ?? ' ') || /[\d$]/.test(src[end + 1] ?? '')) return false;
  if (!silent) {
    const token = state.push('math_inline', '', 0);
    token.content = src.slice(pos + 1, end);
  }
  state.pos = end + 1;
  return true;
};

const MENTION = /@\[((?:[^\\[\]\n]|\\.){1,200})\]\(user:([\w-]{1,64})\)/y;

/** Parses `@[name](user:id)`. */
export const mention: InlineRule = (state, silent) => {
  if (state.src.charCodeAt(state.pos) !== AT || state.src.charCodeAt(state.pos + 1) !== BRACKET) return false;
  MENTION.lastIndex = state.pos;
  const match = MENTION.exec(state.src);
  if (match?.[1] === undefined || state.pos + match[0].length > state.posMax) return false;
  if (!silent) {
    const token = state.push('mention', '', 0);
    token.meta = { user_id: match[2], name: match[1].replace(/\\([\\[\]])/g, '$1') };
  }
  state.pos += match[0].length;
  return true;
};

const WIKI = /\[\[([^[\]|\n]{1,500})(?:\|([^[\]|\n]{1,500}))?\]\]/y;

/** Parses `[[target]]` and `[[target|label]]`. */
export const wikiLink: InlineRule = (state, silent) => {
  if (state.src.charCodeAt(state.pos) !== BRACKET || state.src.charCodeAt(state.pos + 1) !== BRACKET) return false;
  WIKI.lastIndex = state.pos;
  const match = WIKI.exec(state.src);
  const target = match?.[1]?.trim();
  if (match === null || !target || state.pos + match[0].length > state.posMax) return false;
  if (!silent) {
    const token = state.push('wiki_link', '', 0);
    const label = match[2]?.trim();
    token.meta = label ? { target, label } : { target };
  }
  state.pos += match[0].length;
  return true;
};

const FOOTNOTE = /\[\^([^\]\s^[]{1,200})\]/y;

/** Parses `[^label]` if the page defines that label. */
export const footnoteRef: InlineRule = (state, silent) => {
  if (state.src.charCodeAt(state.pos) !== BRACKET || state.src[state.pos + 1] !== '^') return false;
  FOOTNOTE.lastIndex = state.pos;
  const match = FOOTNOTE.exec(state.src);
  if (match?.[1] === undefined || !labelsOf(state.env).has(match[1])) return false;
  if (!silent) state.push('footnote_ref', '', 0).meta = { label: match[1] };
  state.pos += match[0].length;
  return true;
};
