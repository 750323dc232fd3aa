/**
 * Returns URLs that lead to a port of this machine or into its network, in all spellings. They are collected from what
 * resolvers and URL parsers (WHATWG URL, RFC 4291, 6052, 3056, 4380, 5156) accept as such addresses.
 */
export function hostileTargets(port: number): readonly string[] {
  const at = (host: string) => [`https://${host}:${port}/`];
  return [
    // IPv4 in all its spellings.
    ...[
      '127.0.0.1',
      '127.1',
      '127.0.1',
      '2130706433',
      '0x7f000001',
      '0x7f.0.0.1',
      '0177.0.0.1',
      '017700000001',
    ].flatMap(at),
    ...['0x7f.1', '127.0.0.1.', '127.255.255.254', '0', '0.0.0.0', '0x0', '%31%32%37.0.0.1', '１２７.０.０.１'].flatMap(
      at,
    ),
    ...['①②⑦.⓪.⓪.①', '127。0。0。1'].flatMap(at),
    // Other networks that are not part of the internet.
    ...[
      '10.0.0.1',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.0.1',
      '169.254.169.254',
      '100.64.0.1',
      '198.18.0.1',
    ].flatMap(at),
    ...['192.0.0.1', '192.0.2.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '2852039166'].flatMap(at),
    // IPv6, and IPv4 embedded in it.
    ...[
      '[::1]',
      '[::]',
      '[0:0:0:0:0:0:0:1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::7f00:1]',
      '[::127.0.0.1]',
    ].flatMap(at),
    ...['[64:ff9b::7f00:1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001:0:7f00:1::]', '[2001:db8::1]'].flatMap(
      at,
    ),
    ...[
      '[fe80::1]',
      '[fc00::1]',
      '[fd00:ec2::254]',
      '[fec0::1]',
      '[ff02::1]',
      '[100::1]',
      '[::ffff:169.254.169.254]',
    ].flatMap(at),
    // Hosts of clouds, at addresses that look like any other.
    ...['168.63.129.16', '161.26.0.10', '166.9.48.171', '192.80.8.124', '100.100.100.200', '192.0.0.192'].flatMap(at),
    ...['[::ffff:168.63.129.16]', '[64:ff9b::a83f:8110]', '2822734096', '0xa83f8110', '[fd20:ce::254]'].flatMap(at),
    // Names of the local network.
    ...[
      'localhost',
      'LOCALHOST',
      'localhost.',
      'a.localhost',
      'ip6-localhost',
      'printer',
      'metadata.google.internal',
    ].flatMap(at),
    ...['db.local', 'wiki.intranet', 'x.home.arpa', 'a.test', 'a.invalid', 'hidden.onion'].flatMap(at),
    // Schemes, credentials and ports.
    `http://127.0.0.1:${port}/`,
    `http://example.com:${port}/`,
    `ftp://127.0.0.1:${port}/`,
    `gopher://127.0.0.1:${port}/_x`,
    'file:///etc/passwd',
    'data:text/plain,hello',
    'javascript:alert(1)',
    `https://user:secret@127.0.0.1:${port}/`,
    'https://user@example.com/',
    'https://example.com:22/',
    'https://example.com:25/',
    `https://example.com@127.0.0.1:${port}/`,
    `https://127.0.0.1:${port}\\@example.com/`,
    `https:127.0.0.1:${port}/`,
    `https:///127.0.0.1:${port}/`,
    `//127.0.0.1:${port}/`,
    `https://127.0.0.1:${port}#@example.com/`,
    `https://127.0.0.1:${port}?@example.com/`,
    'https://',
    '',
  ];
}
