/** The variable by which an operator refuses connections that are not encrypted. */
export const PLAIN_CONNECTIONS = 'COMMONPLACE_PLAIN_CONNECTIONS';

/** Schemes without encryption, each with the parameter of a URL that asks for it nevertheless. */
const PLAIN: Readonly<Record<string, string | undefined>> = {
  http: undefined,
  nats: undefined,
  smtp: 'requireTLS=true',
  mongodb: 'tls=true',
};

/**
 * Returns whether a connection to one of the comma-separated URLs may be unencrypted: its scheme does not encrypt, or
 * encrypts only if the server offers it, and one of its hosts is not this machine. Returns false for a text that is not
 * a URL.
 */
export function isPlainUrl(urls: string): boolean {
  return urls.split(/,(?=[a-z+]+:\/\/)/i).some(isPlain);
}

function isPlain(url: string): boolean {
  const [, scheme = '', authority = '', rest = ''] = /^([a-z+]+):\/\/([^/?#]*)(.*)$/i.exec(url.trim()) ?? [];
  if (!Object.hasOwn(PLAIN, scheme.toLowerCase())) return false;
  const encrypts = PLAIN[scheme.toLowerCase()];
  const parameters = rest.slice(rest.indexOf('?') + 1).split('&');
  if (encrypts !== undefined && parameters.includes(encrypts)) return false;
  const hosts = authority.slice(authority.lastIndexOf('@') + 1).split(',');
  return hosts.some((host) => !LOOPBACK.test(host));
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;
