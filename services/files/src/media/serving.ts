import { essenceOf, isType } from './content-type.js';

/** Rendered by browsers with scripts, forms or plug-ins of their own; XML of any kind is told by its suffix. */
const ACTIVE = new Set([
  'text/html',
  'application/xhtml+xml',
  'image/svg+xml',
  'application/xml',
  'text/xml',
  'text/xsl',
  'application/pdf',
  'application/postscript',
  'application/rtf',
  'text/rtf',
  'multipart/related',
  'multipart/x-mixed-replace',
  'message/rfc822',
  'application/x-mimearchive',
  'application/hta',
  'application/wasm',
  'application/x-shockwave-flash',
  'application/java-archive',
  'application/ecmascript',
  'application/x-ecmascript',
  'application/javascript',
  'application/x-javascript',
  'text/javascript',
  'text/ecmascript',
  'text/jscript',
  'text/livescript',
  'text/vbscript',
  'text/x-component',
  'text/x-javascript',
  'text/x-ecmascript',
  'text/css',
  'text/cache-manifest',
]);

const RASTER = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp', 'image/apng']);

/** Text of other names; it is shown as it is written, like all that is `text/…` and not active. */
const TEXTS = new Set(['application/json', 'application/x-ndjson', 'application/yaml', 'application/toml']);

/** Whether a browser that renders the type can run what it holds. What is no content type at all counts as such. */
export function isActive(contentType: string): boolean {
  const essence = essenceOf(contentType);
  return !isType(essence) || ACTIVE.has(essence) || /[+/]xml$/.test(essence);
}

function isPlain(essence: string): boolean {
  return TEXTS.has(essence) || (essence.startsWith('text/') && !isActive(essence));
}

/** Whether the type may be served inline from the product's own origin; a list of what may, so the unknown may not. */
export function mayInline(contentType: string): boolean {
  const essence = essenceOf(contentType);
  return RASTER.has(essence) || isPlain(essence);
}

/**
 * The `Content-Type` to send with a file, beside `X-Content-Type-Options: nosniff`. Inline text is plain text, active
 * types are bytes: a browser that overlooks the disposition has nothing to render. Of the parameters the charset stays.
 */
export function servedType(contentType: string, disposition: 'inline' | 'attachment'): string {
  const essence = essenceOf(contentType);
  if (isActive(essence)) return 'application/octet-stream';
  const charset = /;\s*charset=([\w-]+)/i.exec(contentType)?.[1];
  if (disposition === 'inline' && isPlain(essence)) return `text/plain; charset=${charset ?? 'utf-8'}`;
  return charset === undefined ? essence : `${essence}; charset=${charset}`;
}
