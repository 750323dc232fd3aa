import ipaddr from 'ipaddr.js';

/**
 * Returns a network in CIDR notation with its host bits cleared. A bare address becomes a network of one. Throws on
 * anything else, and on IPv4-mapped IPv6.
 */
export function parseNetwork(text: string): string {
  const [address = '', bits, ...more] = text.split('/');
  if (more.length > 0) throw new Error('has more than one prefix length');
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    const network = `${address}/${bits ?? 32}`;
    return `${ipaddr.IPv4.networkAddressFromCIDR(network)}/${ipaddr.IPv4.parseCIDR(network)[1]}`;
  }
  const network = `${address}/${bits ?? 128}`;
  const [base, length] = ipaddr.IPv6.parseCIDR(network);
  if (base.isIPv4MappedAddress()) throw new Error('must be an IPv4 network instead of an IPv4-mapped one');
  return `${ipaddr.IPv6.networkAddressFromCIDR(network)}/${length}`;
}

/**
 * Returns whether an address is in one of the networks. IPv4-mapped IPv6 counts as IPv4. False for an invalid
 * address.
 */
export function isWithin(ip: string, networks: readonly string[]): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const address = ipaddr.process(ip);
  return networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network);
    return base.kind() === address.kind() && address.match(base, bits);
  });
}

/** Returns whether every address of a network is in one of the others. */
export function isNetworkWithin(network: string, others: readonly string[]): boolean {
  const [base, bits] = ipaddr.parseCIDR(network);
  return others.some((other) => {
    const [outer, outerBits] = ipaddr.parseCIDR(other);
    return outer.kind() === base.kind() && bits >= outerBits && base.match(outer, outerBits);
  });
}
