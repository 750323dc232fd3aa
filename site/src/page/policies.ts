/** Common part of the policies: nothing is allowed but what they name, and no other page may frame the page. */
const NOTHING = ["default-src 'none'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"];

/** Returns the policy of a published page: styles and images of this server, and forms that post to it; no scripts. */
export function readerPolicy(frames?: string): string {
  return [
    ...NOTHING,
    "style-src 'self'",
    "img-src 'self' data:",
    "media-src 'self'",
    "form-action 'self'",
    ...(frames === undefined ? [] : [`frame-src ${frames}`]),
  ].join('; ');
}

/** Returns the policy of a form's page: one script, identified by the nonce; none without a nonce. */
export function formPolicy(nonce?: string): string {
  return [
    ...NOTHING,
    "style-src 'self'",
    "img-src 'self'",
    "form-action 'self'",
    ...(nonce === undefined ? [] : [`script-src 'nonce-${nonce}'`]),
  ].join('; ');
}

/**
 * Returns the policy of a frame with users' code: an opaque origin, no forms, no requests except for `pictures`, and
 * scripts only if the frame's origin gives access to none of our pages.
 */
export function framePolicy(parts: { scripts: boolean; pictures: string; ancestors: readonly string[] }): string {
  const { scripts, pictures, ancestors } = parts;
  return [
    `sandbox${scripts ? ' allow-scripts' : ''}`,
    "default-src 'none'",
    ...(scripts ? ["script-src 'unsafe-inline' 'unsafe-eval'"] : []),
    "style-src 'unsafe-inline'",
    `img-src ${pictures} data: blob:`,
    `media-src ${pictures} data: blob:`,
    'font-src data:',
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors.join(' ')}`,
  ].join('; ');
}
