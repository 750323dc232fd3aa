import type { StateInline, Token } from 'markdown-it';
import type { Redirect } from './links.js';

/** Prefix of a destination that is the name of a page or file and not its path, as in `[[page]]`. */
const NAMED = '[[';

/** Returns what a link names: `[[folder/page` is the destination of `[[folder/page]]`; undefined for other links. */
export function nameIn(href: string): string | undefined {
  return href.startsWith(NAMED) ? href.slice(NAMED.length) : undefined;
}

/** Returns a destination as the source writes it. */
export function writtenLink(href: string): string {
  return nameIn(href) === undefined ? href : `${href}]]`;
}

/** Describes `[[target]]`, `[[target|label]]`, or `![[target]]`, which shows the target in the page. */
interface WikiLink {
  readonly target: string;
  readonly label?: string;
  readonly isEmbed: boolean;
}

const LINK = /(!?)\[\[([^[\]|\n]{1,500})(?:\|([^[\]|\n]{1,500}))?\]\]/y;
const BRACKET = 0x5b;
const EXCLAMATION = 0x21;

/** Parses wiki links as the parser of documents does, and embeds as well. */
export function wikiLinkRule(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  const code = src.charCodeAt(pos);
  if (code !== BRACKET && code !== EXCLAMATION) return false;
  LINK.lastIndex = pos;
  const match = LINK.exec(src);
  const target = match?.[2]?.trim();
  if (match === null || !target || pos + match[0].length > posMax) return false;
  if (!silent) {
    const token = state.push('wiki_link', '', 0);
    token.content = match[0];
    token.meta = { target, label: match[3]?.trim(), isEmbed: match[1] === '!' } satisfies WikiLink;
  }
  state.pos += match[0].length;
  return true;
}

export const wikiLinkOf = ({ meta }: Token): WikiLink => meta as unknown as WikiLink;

const IMAGE = /\.(?:avif|bmp|gif|jpe?g|png|svg|webp)$/i;
/** Matches the size that an embed has in place of a label. */
const SIZE = /^\d+(?:x\d+)?$/;

/** Returns an ordinary link or image that replaces a wiki link, or undefined if its target is not known. */
export function ordinaryLink({ target, label, isEmbed }: WikiLink, redirect: Redirect): string | undefined {
  const to = redirect(NAMED + target);
  if (to === undefined) return undefined;
  const isImage = isEmbed && IMAGE.test(pathOf(target));
  const isSize = isEmbed && label !== undefined && SIZE.test(label);
  const words = label && !isSize ? label : isImage ? pathOf(target) : target.replace(/^#/, '').replaceAll('#', ' > ');
  const at = to.indexOf('#');
  const href = at < 0 ? to : `${to.slice(0, at)}#${fragment(to.slice(at + 1))}`;
  return `${isImage ? '!' : ''}[${words.replace(SPECIAL, '\\$&')}](${href})`;
}

/** Characters of a label that Markdown would take for marks. */
const SPECIAL = /[\\`*_[\]<~$|&]/g;

const pathOf = (target: string): string => target.split('#')[0] as string;

const fragment = (text: string): string =>
  encodeURIComponent(text).replace(/[()]/g, (char) => (char === '(' ? '%28' : '%29'));
