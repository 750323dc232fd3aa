/** Maximum lifetime of an access token in seconds: ten years. Some servers send more for one that never expires. */
const MAX_TOKEN_SECONDS = 10 * 365 * 24 * 3600;

/** Returns the lifetime of an access token in milliseconds by the `expires_in` of an OAuth server, within bounds. */
export function tokenLifetimeMs(expiresIn: number): number {
  return Math.min(Math.max(expiresIn, 0), MAX_TOKEN_SECONDS) * 1000;
}
