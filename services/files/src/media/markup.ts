/** Elements that make a browser treat bytes as HTML (WHATWG MIME Sniffing §7.1) and that only a page begins with. */
const PAGE =
  /^<(?:!doctype\s+html|html|head|body|script|iframe|title|style|meta|link|base|object|embed|frameset)(?=[\s>/]|$)/i;
/** Other elements of that list, and those whose attributes run scripts: plain Markdown often begins with them too. */
const FRAGMENT = /^<(?:!--|[a-z])/i;

/**
 * Removes the byte order mark and leading white space and, with `prologue`, comments, processing instructions and the
 * document type.
 */
function strip(text: string, prologue: boolean): string {
  let rest = text.replace(/^[\s\ufeff]+/, '');
  while (prologue) {
    const skipped = rest.replace(/^(?:<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<!doctype[^[>]*(?:\[[\s\S]*?\]\s*)?>)\s*/i, '');
    if (skipped === rest) break;
    rest = skipped;
  }
  return rest;
}

/** Returns the kind of markup of a text: `fragment` may be HTML, undefined means none. */
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
