/** An entry of a list of URLs, parsed. */
interface Entry {
  /** `https:` or `http:`; undefined for an entry without a scheme, which allows every scheme and port. */
  readonly protocol: string | undefined;
  readonly host: string;
  /** Empty for the scheme's own port. */
  readonly port: string;
  /** What the path and the query have to begin with. */
  readonly path: string;
}

/**
 * Reads an Org's list of allowed URLs: hosts, hosts after `*.`, or beginnings of URLs. Returns whether the list names a
 * URL. An entry that cannot be read names none.
 */
export function readUrlList(list: readonly string[]): (url: URL) => boolean {
  const entries = list.flatMap((text) => readEntry(text) ?? []);
  return (url) => entries.some((entry) => names(entry, url));
}

function readEntry(text: string): Entry | undefined {
  const hasScheme = /^https?:\/\//i.test(text);
  const full = hasScheme ? text : `https://${text}`;
  if (!URL.canParse(full)) return undefined;
  const { protocol, hostname, port, pathname, search } = new URL(full);
  return { protocol: hasScheme ? protocol : undefined, host: withoutDot(hostname), port, path: pathname + search };
}

function names({ protocol, host, port, path }: Entry, url: URL): boolean {
  const given = withoutDot(url.hostname);
  const isHost = host.startsWith('*.') ? given.endsWith(host.slice(1)) : given === host;
  if (!isHost || !(url.pathname + url.search).startsWith(path)) return false;
  if (protocol === undefined) return port === '' || url.port === port;
  return url.protocol === protocol && url.port === port;
}

/** Returns a host name without a final dot, which names the same host. */
function withoutDot(hostname: string): string {
  return hostname.replace(/\.$/, '');
}
