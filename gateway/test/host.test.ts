import { createReadHost, isHostOf } from '@commonplace/kit/http';
import { describe, expect, test } from '@jest/globals';

const hostOf = createReadHost('https://wiki.example.com');

describe('a Host header', () => {
  test.each([
    ['wiki.example.com', 'wiki.example.com'],
    ['WIKI.Example.COM', 'wiki.example.com'],
    ['wiki.example.com.', 'wiki.example.com'],
    ['wiki.example.com:443', 'wiki.example.com'],
    ['Wiki.example.com.:443', 'wiki.example.com'],
    ['wiki.example.com:80', 'wiki.example.com:80'],
    ['wiki.example.com:8443', 'wiki.example.com:8443'],
    ['WIKI.example.com.:8443', 'wiki.example.com:8443'],
    ['localhost', 'localhost'],
    ['127.0.0.1:8080', '127.0.0.1:8080'],
    ['[::1]:8080', '[::1]:8080'],
    ['[2001:DB8::1]:443', '[2001:db8::1]'],
    ['_wsk-verify.example.com', '_wsk-verify.example.com'],
  ])('%s is the host %s', (host, read) => {
    expect(hostOf({ host })).toBe(read);
  });

  test.each([
    '',
    '.',
    'a..',
    'a b',
    'a/b',
    'a@b',
    'a:',
    'a:port',
    'a:123456',
    '*',
    'a?',
    'ä.example',
    '[::1',
    '\u0000',
  ])('%j belongs to no host', (host) => {
    expect(hostOf({ host })).toBe('');
  });

  test('equals that of a URL by the URL’s own scheme', () => {
    const isIt = isHostOf('http://bytes.example.net');
    expect([isIt({ host: 'bytes.example.net:80' }), isIt({ host: 'bytes.example.net:443' })]).toEqual([true, false]);
    expect(isHostOf('https://Bytes.example.net:8443/x')({ host: 'BYTES.example.net.:8443' })).toBe(true);
  });
});
