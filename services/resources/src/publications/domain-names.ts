import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Returns a host name in its DNS form: lower case, in ASCII. Returns undefined if it is not a public host name, or is
 * one of `closedHosts` or below one.
 */
export function requireDomain(given: string, closedHosts: readonly string[]): string | undefined {
  if (!/^[^\s/:@?#[\]\\%*_]+$/u.test(given)) return undefined;
  const name = domainToASCII(given.replace(/\.$/, '').toLowerCase());
  const labels = name.split('.');
  const isName = name.length <= 253 && labels.length >= 2 && labels.every((label) => LABEL.test(label));
  if (!isName || isIP(name) !== 0 || /^\d+$/.test(labels.at(-1) as string)) return undefined;
  if (RESERVED.has(labels.at(-1) as string)) return undefined;
  return closedHosts.some((host) => name === host || name.endsWith(`.${host}`)) ? undefined : name;
}

/** Top-level names that do not resolve in the public DNS, or resolve to the machine itself (RFC 6761, 6762, 8375). */
const RESERVED: ReadonlySet<string> = new Set(['localhost', 'local', 'internal', 'invalid', 'onion', 'arpa']);

/** Returns a Host header without its port, in lower case; undefined if it is not a host name. */
export function hostNameOf(header: string): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(header.toLowerCase());
  return match?.[1]?.replace(/\.$/, '');
}
