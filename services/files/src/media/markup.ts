/** Elements by which a browser takes bytes for HTML (WHATWG MIME Sniffing §7.1), those that only a page begins with. */
const PAGE =
  /^<(?:!doctype\s+html|html|head|body|script|iframe|title|style|meta|link|base|object|embed|frameset)(?=[\s>/]|$)/i;
/** The others of that list, and what runs scripts by its attributes: much plain Markdown begins with them too. */
const FRAGMENT = /^<(?:!--|[a-z])/i;

/** The text without a byte order mark, white space and, where asked, comments, instructions and a document type. */
function strip(text: string, prologue: boolean): string {
  let rest = text.replace(/^[\s\ufeff]+/, '');
  while (prologue) {
    const skipped = rest.replace(/^(?:<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<!doctype[^[>]*(?:\[[\s\S]*?\]\s*)?>)\s*/i, '');
    if (skipped === rest) break;
    rest = skipped;
  }
  return rest;
}

/** The kind of markup that a text is; `fragment` may be HTML, `undefined` is none. */
export function markupOf(text: string): 'html' | 'svg' | 'xhtml' | 'xml' | 'fragment' | undefined {
  const start = strip(text, false);
  if (!start.startsWith('<')) return undefined;
  const body = strip(start, true);
  if (/^<(?:\w+:)?svg[\s>/]/i.test(body)) return 'svg';
  if (/^<\?xml[\s?]/i.test(start)) return /^<(?:\w+:)?html[\s>/]/i.test(body) ? 'xhtml' : 'xml';
  if (PAGE.test(start) || PAGE.test(body)) return 'html';
  if (/^<!doctype\s/i.test(start)) return 'xml';
  return FRAGMENT.test(start) ? 'fragment' : undefined;
}
