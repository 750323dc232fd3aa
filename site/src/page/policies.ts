/**
 * Base of the Content Security Policies. It blocks everything that a policy does not name, and forbids other pages to
 * frame the page.
 */
const NOTHING = ["default-src 'none'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"];

/** Returns the policy of a published page: styles and images of this server, forms that post to it, and no scripts. */
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

/** Returns the policy of a form's page. It allows the script with the nonce; without a nonce it allows none. */
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
 * scripts only if the frame's origin can't access our pages.
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
