import { dictionary } from '@commonplace/kit/dictionary';
import { type Handler, Parser } from 'htmlparser2';
import { boundNesting, NestedTooDeep } from '../../domain/nesting.js';
import { type Change, changed, fitted, type Redirect } from './links.js';

/** Attributes that hold a link, by element. */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = dictionary({
  a: ['href'],
  area: ['href'],
  img: ['src'],
  audio: ['src'],
  video: ['src', 'poster'],
  source: ['src'],
  embed: ['src'],
  iframe: ['src'],
  object: ['data'],
  'resource-link': ['href'],
});
const ATTRIBUTE = /([^\s"'<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g;

/** Returns the URLs of the images in HTML, in order. */
export function imagesInHtml(html: string): string[] {
  const found: string[] = [];
  read(html, () => ({
    onopentag(name, { src }) {
      if (name === 'img' && src !== undefined) found.push(src);
    },
  }));
  return found;
}

/** Returns HTML with its links redirected; everything else stays byte for byte. */
export function redirectHtml(html: string, redirect: Redirect): string {
  return changed(html, htmlChanges(html, redirect));
}

/** Returns the changes that redirecting makes to HTML, in order; `base` is added to their positions. */
export function htmlChanges(html: string, redirect: Redirect, base = 0): Change[] {
  const changes: Change[] = [];
  read(html, (parser) => ({
    onopentag(name, attributes) {
      const wanted = ATTRIBUTES[name]?.filter((attribute) => attribute in attributes);
      if (wanted === undefined || wanted.length === 0) return;
      const { startIndex, endIndex } = parser();
      const tag = html.slice(startIndex, endIndex + 1);
      for (const found of tag.matchAll(ATTRIBUTE)) {
        const attribute = (found[1] as string).toLowerCase();
        if (!wanted.includes(attribute)) continue;
        const value = found[2] ?? found[3] ?? found[4] ?? '';
        const href = attributes[attribute] ?? '';
        const to = redirect(href);
        const start = base + startIndex + found.index + found[0].lastIndexOf(value);
        if (to === undefined || value === '') continue;
        changes.push({ start, end: start + value.length, text: fitted(value, href, to) });
      }
    },
  }));
  return changes;
}

/** Parses HTML to its end, or to where its nesting is too deep; the rest is left unchanged. */
function read(html: string, handlerOf: (parser: () => Parser) => Partial<Handler>): void {
  const parser: Parser = new Parser(boundNesting(handlerOf(() => parser)), {
    decodeEntities: true,
    lowerCaseTags: true,
    lowerCaseAttributeNames: true,
  });
  try {
    parser.end(html);
  } catch (error) {
    if (!(error instanceof NestedTooDeep)) throw error;
  }
}
