import { Parser } from 'htmlparser2';
import { type Change, changed, fitted, type Redirect } from './links.js';

/** Attributes that hold a link, by element. */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
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
};
const ATTRIBUTE = /([^\s"'<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g;

/** The addresses of the images in HTML, in their order. */
export function imagesInHtml(html: string): string[] {
  const found: string[] = [];
  const parser = new Parser(
    {
      onopentag(name, { src }) {
        if (name === 'img' && src !== undefined) found.push(src);
      },
    },
    { decodeEntities: true, lowerCaseTags: true, lowerCaseAttributeNames: true },
  );
  parser.write(html);
  parser.end();
  return found;
}

/** HTML with its links redirected; all else stays byte for byte. */
export function redirectHtml(html: string, redirect: Redirect): string {
  return changed(html, htmlChanges(html, redirect));
}

/** What redirecting changes in HTML, in its order; positions begin at `base`. */
export function htmlChanges(html: string, redirect: Redirect, base = 0): Change[] {
  const changes: Change[] = [];
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const wanted = ATTRIBUTES[name]?.filter((attribute) => attribute in attributes);
        if (wanted === undefined || wanted.length === 0) return;
        const { startIndex, endIndex } = parser;
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
    },
    { decodeEntities: true, lowerCaseTags: true, lowerCaseAttributeNames: true },
  );
  parser.write(html);
  parser.end();
  return changes;
}
