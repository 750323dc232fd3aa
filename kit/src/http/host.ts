/** Returns one normalized name for each host, however a client writes it. */
export type ReadHost = (request: { readonly host: string }) => string;

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };
/** A host that is normalized already: lower case, and without a default port. */
const PLAIN = /^[a-z\d-]+(?:\.[a-z\d-]+)*(?::(?!80$|443$)\d{1,5})?$/;
const HOST = /^(\[[\da-f:.]+\]|[a-z\d._-]*[a-z\d_-])\.?(?::(\d{1,5}))?$/;

/**
 * Normalizes Host headers to the `host` of a URL with the scheme of `publicUrl`: in lower case, without a trailing dot
 * in the name, and without the scheme's default port. Returns '' for an invalid host, which matches no host.
 */
export function createReadHost(publicUrl: string): ReadHost {
  const usual = PORTS[new URL(publicUrl).protocol];
  return ({ host }) => {
    if (PLAIN.test(host)) return host;
    const [, name = '', port] = HOST.exec(host.toLowerCase()) ?? [];
    return name === '' || port === undefined || port === usual ? name : `${name}:${port}`;
  };
}

/** Returns a function that decides whether a request is for the host of a URL. */
export function isHostOf(url: string): (request: { readonly host: string }) => boolean {
  const read = createReadHost(url);
  const host = read(new URL(url));
  return (request) => read(request) === host;
}
