/** Nothing but what is named; no frame of another page around it. */
const NOTHING = ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"];

/** A published page: styles and pictures of this server, and forms that ask it; no script at all. */
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

/** The page of a form: one script, which its nonce names; none without. */
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
 * What somebody has programmed, in a frame: an origin of its own, no forms, no requests but for `pictures`, and
 * scripts only where no page of ours can be reached from.
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
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors.join(' ')}`,
  ].join('; ');
}
