/**
 * Prepares sanitized HTML for a published page. Wide tables become scrollable by keyboard, checkboxes get labels, and
 * images of other servers become links, so that opening a page does not reveal it to other servers. Sanitized markup
 * has no angle brackets except those of its tags, and double quotes around every value.
 */
export function proseOf(html: string): string {
  return html
    .replace(/<table\b[^>]*>/g, (tag) => `<div class="scroll" role="region" aria-label="Table" tabindex="0">${tag}`)
    .replaceAll('</table>', '</table></div>')
    .replace(/<input type="checkbox"[^>]*>/g, nameBox)
    .replace(/<img\b[^>]*>/g, ownPicture);
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
