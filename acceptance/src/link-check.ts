/** The destination of a link and its position in a text. */
interface Found {
  readonly start: number;
  readonly end: number;
  readonly href: string;
}

const PATTERNS = [
  /\]\(\s*<([^>\n]*)>\s*(?:"[^"]*"|'[^']*')?\s*\)/dg,
  /\]\(\s*([^\s()<>]+(?:\([^\s()]*\)[^\s()]*)*)\s*(?:"[^"]*"|'[^']*')?\s*\)/dg,
  /^ {0,3}\[(?!\^)[^\]\n]+\]:\s*<?([^\s>]+)/dgm,
  /<(?:a|area)\b[^>]*?\shref\s*=\s*["']([^"'\n]*)["']/dgi,
  /<(?:img|audio|video|source|embed|iframe)\b[^>]*?\ssrc\s*=\s*["']([^"'\n]*)["']/dgi,
  /<object\b[^>]*?\sdata\s*=\s*["']([^"'\n]*)["']/dgi,
];

/** Replaces code and comments by blanks of the same length, because links in them do not count. */
function withoutCode(text: string): string {
  const blank = (found: string) => found.replace(/[^\n]/g, ' ');
  return (
    text
      .replace(/^---\r?\n[\s\S]*?\r?\n---[ \t]*$/m, (found, offset: number) => (offset === 0 ? blank(found) : found))
      .replace(/^[ \t>]*(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:\n[ \t>]*\1[`~]*[ \t]*$|$(?![\s\S]))/gm, blank)
      // This matches indented code directly after a list marker.
      .replace(/^[ \t]*[-*+] {5,}\S.*$/gm, blank)
      .replace(/<!--[\s\S]*?-->/g, blank)
      .replace(/(?<!`)(`+)(?!`)([\s\S]*?[^`])\1(?!`)/g, (found) => (/\n\s*\n/.test(found) ? found : blank(found)))
  );
}

/**
 * Returns the destinations of the links in a Markdown text in order. They are found by patterns alone, independently of
 * the product's parser.
 */
export function destinationsOf(text: string): Found[] {
  const plain = withoutCode(text);
  const found = PATTERNS.flatMap((pattern) =>
    [...plain.matchAll(pattern)].map((match) => {
      const [start, end] = match.indices?.[1] ?? [0, 0];
      return { start, end, href: text.slice(start, end) };
    }),
  );
  const byPlace = new Map(found.map((one) => [one.start, one]));
  return [...byPlace.values()].sort((a, b) => a.start - b.start);
}

/** Replaces all destinations that `isLink` accepts by the same character. */
export function masked(text: string, isLink: (href: string) => boolean): string {
  let result = '';
  let at = 0;
  for (const { start, end, href } of destinationsOf(text)) {
    if (!isLink(href) || start < at) continue;
    result += `${text.slice(at, start)}§`;
    at = end;
  }
  return result + text.slice(at);
}

/** Returns the path to which a relative link in a file leads, without its fragment; undefined for any other link. */
export function pathOf(from: string, href: string): string | undefined {
  const [bare = ''] = href.split(/[#?]/);
  if (bare === '' || /^([a-z][a-z0-9+.-]*:|\/)/i.test(bare)) return undefined;
  const parts = from.split('/').slice(0, -1);
  for (const part of decodeURIComponent(bare).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return parts.join('/');
}
