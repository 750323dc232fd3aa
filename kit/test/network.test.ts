import { describe, expect, test } from '@jest/globals';
import { readConfig } from '../src/config/index.js';
import { countedNetwork, IPV6_PREFIX } from '../src/network/index.js';

describe('the network that limits count', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['192.0.2.1:50123', '192.0.2.1'],
    ['2001:db8:0:1::5', '2001:db8:0:1::/64'],
    ['2001:DB8:0:1:ffff:ffff:ffff:ffff', '2001:db8:0:1::/64'],
    ['[2001:db8:0:1::5]:443', '2001:db8:0:1::/64'],
    ['[2001:db8:0:1::5]', '2001:db8:0:1::/64'],
    ['2001:db8:0:2::5', '2001:db8:0:2::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::1', '::/64'],
    ['', ''],
    ['elsewhere', ''],
  ])('of %j is %j', (address, network) => {
    expect(countedNetwork(address)).toBe(network);
  });

  test('has the prefix length of the setting, and a whole IPv4 address', () => {
    expect(countedNetwork('2001:db8:12:3456::1', 48)).toBe('2001:db8:12::/48');
    expect(countedNetwork('2001:db8:12:3456::1', 128)).toBe('2001:db8:12:3456::1/128');
    expect(countedNetwork('192.0.2.1', 16)).toBe('192.0.2.1');
    const read = (text: string) => readConfig({ prefix: IPV6_PREFIX }, { COMMONPLACE_LIMITS_IPV6_PREFIX: text }).prefix;
    expect(read('')).toBe(64);
    expect(read('56')).toBe(56);
    expect(() => read('0')).toThrow('COMMONPLACE_LIMITS_IPV6_PREFIX must be a whole number from 16 to 128');
  });
});
