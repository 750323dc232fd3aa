import { describe, expect, it } from '@jest/globals';
import { flag, integer, oneOf, serversUrl, shapeOf, text, url } from '../src/config/index.js';
import { CIDR_PATTERN, NETWORK_PATTERN } from '../src/network/index.js';

describe('accepted values of parsers', () => {
  it('are noted for the parsers of the kit', () => {
    expect(shapeOf(integer(1, 5))).toEqual({ kind: 'integer', min: 1, max: 5 });
    expect(shapeOf(oneOf('a', 'b'))).toEqual({ kind: 'choice', choices: ['a', 'b'] });
    expect(shapeOf(flag)).toEqual({ kind: 'flag' });
    expect(shapeOf(url('https'))).toEqual({ kind: 'url', schemes: ['https'] });
    expect(shapeOf(text)).toEqual({ kind: 'text' });
  });

  it('are unknown for a parser without a note', () => {
    expect(shapeOf(serversUrl('nats'))).toBeUndefined();
  });
});

describe('patterns of addresses', () => {
  const network = new RegExp(`^${NETWORK_PATTERN}$`);
  const cidr = new RegExp(`^${CIDR_PATTERN}$`);

  it.each([
    '10.0.0.0/8',
    '0.0.0.0/0',
    '255.255.255.255/32',
    '::/0',
    '2001:db8::/32',
    'fe80::1/128',
    '::ffff:10.0.0.1/96',
  ])('accept %s', (one) => {
    expect(one).toMatch(network);
    expect(one).toMatch(cidr);
  });

  it.each(['10.0.0.1', '::1', '::', '1::', '1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7::'])('accept the address %s', (one) => {
    expect(one).toMatch(network);
    expect(one).not.toMatch(cidr);
  });

  it.each([
    'banana',
    '10.0.0',
    '10.0.0.256',
    '10.0.0.0/33',
    '::/129',
    '1::2::3',
    '1:2:3:4:5:6:7:8:9',
    '',
    '10.0.0.0/',
    '01.2.3.4',
  ])('refuse %s', (one) => expect(one).not.toMatch(network));
});
