import { describe, expect, test } from '@jest/globals';
import { isNetworkWithin, isWithin, parseNetwork } from '../src/domain/networks.js';

describe('networks', () => {
  test.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['192.0.2.7', '192.0.2.7/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['::1', '::1/128'],
  ])('parse %s as %s', (text, network) => {
    expect(parseNetwork(text)).toBe(network);
  });

  test.each([
    '',
    '10',
    '10/8',
    '10.0.0.0/33',
    '10.0.0.0/x',
    '10.0.0.0/8/8',
    '::/129',
    'localhost',
    '::ffff:10.0.0.0/104',
  ])('refuse %j', (text) => {
    expect(() => parseNetwork(text)).toThrow();
  });

  test('contain their addresses, including IPv4 addresses mapped to IPv6', () => {
    expect(isWithin('10.9.9.9', ['10.0.0.0/8'])).toBe(true);
    expect(isWithin('::ffff:10.9.9.9', ['10.0.0.0/8'])).toBe(true);
    expect(isWithin('11.0.0.1', ['10.0.0.0/8', '::/0'])).toBe(false);
    expect(isWithin('2001:db8::5', ['10.0.0.0/8', '2001:db8::/32'])).toBe(true);
    expect(isWithin('', ['0.0.0.0/0'])).toBe(false);
    expect(isWithin('elsewhere', ['0.0.0.0/0'])).toBe(false);
  });

  test('are compared for containment', () => {
    expect(isNetworkWithin('10.1.0.0/16', ['10.0.0.0/8'])).toBe(true);
    expect(isNetworkWithin('10.0.0.0/8', ['10.1.0.0/16'])).toBe(false);
    expect(isNetworkWithin('::/0', ['0.0.0.0/0'])).toBe(false);
  });
});
