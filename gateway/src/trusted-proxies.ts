import { list, shaped } from '@commonplace/kit/config';
import { NETWORK_PATTERN } from '@commonplace/kit/network';
import proxyAddr from 'proxy-addr';

/** Names of address ranges that `proxy-addr` predefines. */
const RANGES = ['loopback', 'linklocal', 'uniquelocal'] as const;
const ONE = `(${RANGES.join('|')}|${NETWORK_PATTERN})`;

/**
 * Parses comma-separated addresses and networks of proxies, and names of address ranges. Throws if an item is none of
 * these.
 */
export const parseProxies = shaped({ kind: 'text', pattern: `${ONE}( *, *${ONE})*` }, (value: string): string[] => {
  const proxies = list(value);
  for (const proxy of proxies) {
    try {
      proxyAddr.compile([proxy]);
    } catch {
      throw new Error(`must be addresses or networks, such as 10.0.0.0/8 or 2001:db8::/32; ${proxy} is neither`);
    }
  }
  return proxies;
});
