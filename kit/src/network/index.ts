import ipaddr from 'ipaddr.js';
import { integer } from '../config/index.js';

export { CIDR_PATTERN, IPV4_PATTERN, IPV6_PATTERN, NETWORK_PATTERN } from './patterns.js';

/** Setting for the prefix length by which limits count IPv6 addresses, the same for every service with limits. */
export const IPV6_PREFIX = {
  variable: 'COMMONPLACE_LIMITS_IPV6_PREFIX',
  help: 'leading bits of an IPv6 address that limits count as one client: a subscriber has at least a /64',
  parse: integer(16, 128),
  fallback: 64,
};

/**
 * Matches an IPv4 address with a port, or an IPv6 address in brackets with or without a port, as some proxies write
 * them.
 */
const WITH_PORT = /^(?:(\d+(?:\.\d+){3}):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/;

/**
 * Returns the network as which limits count a client's address: a whole IPv4 address, even if it is mapped into IPv6,
 * or the first `ipv6Prefix` bits of another IPv6 address. Returns '' for an invalid address.
 */
export function countedNetwork(address: string, ipv6Prefix: number = IPV6_PREFIX.fallback): string {
  const [, ipv4, bracketed] = WITH_PORT.exec(address) ?? [];
  const [bare = ''] = (ipv4 ?? bracketed ?? address).split('%');
  if (!ipaddr.isValid(bare)) return '';
  const parsed = ipaddr.process(bare);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed}/${ipv6Prefix}`)}/${ipv6Prefix}`;
}

/** Returns whether the host of a URL is a loopback address or `localhost`. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** Prefix length in bits of the network of a site, as opposed to one machine. */
const NETWORK_BITS = { ipv4: 24, ipv6: 48 } as const;

/**
 * Returns the network of a client's address in CIDR notation, which records store in place of the address: the /24 of
 * an IPv4 address, the /48 of an IPv6 one. Returns undefined for an invalid address.
 */
export function networkOf(ip: string): string | undefined {
  if (!ipaddr.isValid(ip)) return undefined;
  const address = ipaddr.process(ip);
  return address.kind() === 'ipv4'
    ? `${ipaddr.IPv4.networkAddressFromCIDR(`${address}/${NETWORK_BITS.ipv4}`)}/${NETWORK_BITS.ipv4}`
    : `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${NETWORK_BITS.ipv6}`)}/${NETWORK_BITS.ipv6}`;
}
export * from './listen.js';
