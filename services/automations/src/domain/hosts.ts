const HOST = /^(?:\*\.)?[a-z0-9](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9](?:[a-z0-9_-]{0,62}))*$/;
const MAX_HOST_CHARACTERS = 253;

/** Returns a host, or `*.` and a domain, in lower case; undefined for a text that is neither. */
export function readHostPattern(text: string): string | undefined {
  const host = text.trim().toLowerCase();
  if (host.length > MAX_HOST_CHARACTERS) return undefined;
  if (/^\[[0-9a-f:.]+\]$/.test(host)) return host;
  return HOST.test(host) ? host : undefined;
}

/** Returns whether a host of a URL is one of the allowed ones. `*.example.com` is each host below it, not itself. */
export function isAllowedHost(host: string, patterns: readonly string[]): boolean {
  const asked = host.toLowerCase();
  return patterns.some((pattern) => {
    if (!pattern.startsWith('*.')) return asked === pattern;
    const suffix = pattern.slice(1);
    return asked.length > suffix.length && asked.endsWith(suffix);
  });
}
