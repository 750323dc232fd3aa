import { essenceOf, isType } from './content-type.js';

/** Types that browsers render with scripts, forms or plug-ins; XML types are recognized by their suffix. */
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

/**
 * Text types whose name does not begin with `text/`. They are shown as plain text, like all `text/…` types that are not
 * active.
 */
const TEXTS = new Set(['application/json', 'application/x-ndjson', 'application/yaml', 'application/toml']);

/**
 * Returns whether a browser that renders the type may execute its content. An invalid content type counts as active.
 */
export function isActive(contentType: string): boolean {
  const essence = essenceOf(contentType);
  return !isType(essence) || ACTIVE.has(essence) || /[+/]xml$/.test(essence);
}

function isPlain(essence: string): boolean {
  return TEXTS.has(essence) || (essence.startsWith('text/') && !isActive(essence));
}

/**
 * Returns whether the type may be served inline from the product's own origin. It is an allowlist, so unknown types may
 * not.
 */
export function mayInline(contentType: string): boolean {
  const essence = essenceOf(contentType);
  return RASTER.has(essence) || isPlain(essence);
}

/**
 * Returns the `Content-Type` to send with a file, in addition to `X-Content-Type-Options: nosniff`. Inline text becomes
 * plain text and active types become bytes, so that a browser that ignores the disposition has nothing to render. Of
 * the parameters only the charset is kept.
 */
export function servedType(contentType: string, disposition: 'inline' | 'attachment'): string {
  const essence = essenceOf(contentType);
  if (isActive(essence)) return 'application/octet-stream';
  const charset = /;\s*charset=([\w-]+)/i.exec(contentType)?.[1];
  if (disposition === 'inline' && isPlain(essence)) return `text/plain; charset=${charset ?? 'utf-8'}`;
  return charset === undefined ? essence : `${essence}; charset=${charset}`;
}
