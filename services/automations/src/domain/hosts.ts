const HOST = /^(?:\*\.)?[a-z0-9](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9](?:[a-z0-9_-]{0,62}))*$/;
const MAX_HOST_CHARACTERS = 253;

/** Returns a host, or `*.` and a domain, in lower case; undefined if the text is neither. */
export function readHostPattern(text: string): string | undefined {
  const host = text.trim().toLowerCase();
  if (host.length > MAX_HOST_CHARACTERS) return undefined;
  if (/^\[[0-9a-f:.]+\]$/.test(host)) return host;
  return HOST.test(host) ? host : undefined;
}

/**
 * Returns whether the host of a URL is allowed. `*.example.com` matches each subdomain, but not `example.com` itself.
 */
export function isAllowedHost(host: string, patterns: readonly string[]): boolean {
  const name = host.toLowerCase();
  return patterns.some((pattern) => {
    if (!pattern.startsWith('*.')) return name === pattern;
    const suffix = pattern.slice(1);
    return name.length > suffix.length && name.endsWith(suffix);
  });
}
