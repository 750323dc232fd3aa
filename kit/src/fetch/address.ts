import ipaddr from 'ipaddr.js';
import { HOST_SERVICES } from './host-services.js';

/** The range for internet hosts; all other IPv6 addresses are reserved or serve other purposes. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

const CLOSED = HOST_SERVICES.map((network) => ipaddr.parseCIDR(network));

/**
 * Returns whether an address is reachable from the internet: not private, special or embedded in another, and not one
 * of a cloud's host services.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  if (CLOSED.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))) return false;
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_UNICAST);
}
