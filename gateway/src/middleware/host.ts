/** One name for each host, however a client writes it. */
export type ReadHost = (request: { readonly host: string }) => string;

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };
/** What needs no second look: as URLs write it, and with no port that may go without saying. */
const PLAIN = /^[a-z\d-]+(?:\.[a-z\d-]+)*(?::(?!80$|443$)\d{1,5})?$/;
const HOST = /^(\[[\da-f:.]+\]|[a-z\d._-]*[a-z\d_-])\.?(?::(\d{1,5}))?$/;

/**
 * Reads Host headers as the `host` of a URL of the same scheme as `publicUrl`: in lower case, without a dot at the end of
 * the name, and without the scheme's own port. What is no host is empty, which is nobody's.
 */
export function createReadHost(publicUrl: string): ReadHost {
  const usual = PORTS[new URL(publicUrl).protocol];
  return ({ host }) => {
    if (PLAIN.test(host)) return host;
    const [, name = '', port] = HOST.exec(host.toLowerCase()) ?? [];
    return name === '' || port === undefined || port === usual ? name : `${name}:${port}`;
  };
}

/** Whether a request is for the host of a URL. */
export function isHostOf(url: string): (request: { readonly host: string }) => boolean {
  const read = createReadHost(url);
  const host = read(new URL(url));
  return (request) => read(request) === host;
}
