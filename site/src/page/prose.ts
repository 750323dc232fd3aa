/**
 * Prepares sanitized HTML for a page. Wide tables become scrollable by keyboard, checkboxes and callouts get labels, and
 * images of other servers become links, so that opening a page does not reveal it to other servers. Sanitized markup
 * has no angle brackets except those of its tags, and double quotes around every value.
 */
export function proseOf(html: string): string {
  let tables = 0;
  return html
    .replace(/<table\b[^>]*>/g, (tag) => scrollable(tag, ++tables))
    .replaceAll('</table>', '</table></div>')
    .replace(/<input type="checkbox"[^>]*>/g, nameBox)
    .replace(/<aside data-callout="[^>]*>/g, nameCallout)
    .replace(/<img\b[^>]*>/g, ownPicture);
}

/** Begins a region that scrolls. Each has a name of its own, by which screen readers list them. */
function scrollable(tag: string, number: number): string {
  const name = number === 1 ? 'Table' : `Table ${number}`;
  return `<div class="scroll" role="region" aria-label="${name}" tabindex="0">${tag}`;
}

/** Shows the kind of a callout in words, because not everybody sees its colour. */
function nameCallout(tag: string): string {
  const kind = (attributeOf(tag, 'data-callout') ?? '').replace(/[-_]/g, ' ');
  const words = kind.charAt(0).toUpperCase() + kind.slice(1);
  return `${tag.replace('<aside', '<aside role="note"')}<p class="kind">${words}</p>`;
}

function nameBox(tag: string): string {
  const words = tag.includes(' checked=') ? 'Done' : 'Not done';
  return tag.replace('<input', `<input aria-label="${words}"`);
}

function ownPicture(tag: string): string {
  const src = attributeOf(tag, 'src');
  const alt = attributeOf(tag, 'alt') ?? '';
  if (src === undefined) return '';
  if (!FOREIGN.test(src)) return attributeOf(tag, 'alt') === undefined ? tag.replace('<img', '<img alt=""') : tag;
  return `<a href="${src}" rel="noopener noreferrer nofollow">${alt === '' ? 'Image on another site' : alt}</a>`;
}

/** Matches a URL that has a scheme or another host than the page. */
const FOREIGN = /^\s*(?:https?:|[/\\]{2})/i;

const attributeOf = (tag: string, name: string): string | undefined => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
