import { expect, test } from '@jest/globals';
import { boundaryOf, readFormData } from '../src/http/index.js';

const TYPE = 'multipart/form-data; boundary=x';
const BOUNDS = { parts: 3, files: 1 };
const part = (name: string, more = '') => `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n1\r\n`;
const read = (parts: string, type = TYPE) => readFormData(type, Buffer.from(`${parts}--x--\r\n`), BOUNDS);
const refusal = { reason: 'invalid_value', message: expect.stringContaining('at most') };

test('parts and files are parsed up to their limits', async () => {
  const data = await read(part('a') + part('b') + part('file', '; filename="f.txt"\r\nContent-Type: text/plain'));
  expect([...data.keys()]).toEqual(['a', 'b', 'file']);
});

test.each([
  ['parts', part('a').repeat(4)],
  ['files', part('a', '; filename="a"').repeat(2)],
  ['headers of a part', part('a', `${'\r\na: b'.repeat(4)}`)],
  ['headers in a part that does not end', `--x\r\n${'a:\r\n'.repeat(1_000_000)}`],
  ['bytes of headers', `--x\r\nContent-Disposition: form-data; name="${'%0A'.repeat(400_000)}"\r\n\r\n1\r\n`],
])('a body with more %s is refused before it is parsed', async (_, parts) => {
  await expect(read(parts)).rejects.toMatchObject(refusal);
});

test('the parts that are counted are those that are parsed, whatever the Content-Type says', async () => {
  const types = [
    'multipart/form-data; a="boundary=y"; boundary=x',
    'multipart/form-data; boundary="x"; boundary=y',
    'Multipart/Form-Data;Boundary=x',
  ];
  for (const type of types) {
    expect(boundaryOf(type)).toBe('x');
    await expect(read(part('a').repeat(4), type)).rejects.toMatchObject(refusal);
  }
});

test.each(['multipart/form-data', 'multipart/form-data; boundary="a\\"b"', 'text/plain; boundary=x', 'x, ', ''])(
  'a Content-Type of %j has no boundary',
  async (type) => {
    expect(boundaryOf(type)).toBeUndefined();
    await expect(read(part('a'), type)).rejects.toBeInstanceOf(TypeError);
  },
);
