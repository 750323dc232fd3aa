import { expect, jest, test } from '@jest/globals';
import { readFiles } from '../../src/forms/file-answers.js';
import { createFormFaults } from '../../src/forms/reader.js';

const FIELD = { type: 'file', max_files: 1 } as never;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

function read(content: string) {
  const faults = createFormFaults();
  const [file] = readFiles([{ name: 'a.txt', content_base64: content }], FIELD, 'values.up', faults) ?? [];
  return { bytes: file !== undefined && 'bytes' in file ? file.bytes : undefined, faults: faults.list };
}

test('the bytes of a file are Base64, padded or not, and nothing else', () => {
  const texts = [
    '',
    'Q',
    '=',
    '==',
    'QQ=',
    'QUI=x',
    'QQ==QQ==',
    'QUJD=',
    'QUJD====',
    'QU-D',
    'QU_D',
    'QU D',
    'QUJ\n',
    'QÜJD',
    'QUJ😀',
  ];
  const alphabet = 'AQz09+/=-_ é';
  for (let number = 0; number < alphabet.length ** 4; number += 7) {
    let rest = number;
    const text = Array.from({ length: 4 }, () => {
      const one = alphabet[rest % alphabet.length];
      rest = Math.floor(rest / alphabet.length);
      return one;
    }).join('');
    texts.push(text, `QUJD${text}`, text.slice(1));
  }
  for (const text of texts) {
    const { bytes } = read(text);
    expect([text, bytes?.toString('hex')]).toEqual([
      text,
      BASE64.test(text) ? Buffer.from(text, 'base64').toString('hex') : undefined,
    ]);
  }
});

test('no pattern is matched with the bytes of a file, which would block the event loop', () => {
  const content = Buffer.alloc(3_000_000, 65).toString('base64');
  const tested = jest.spyOn(RegExp.prototype, 'test');
  try {
    expect(read(content).bytes).toHaveLength(3_000_000);
    expect(Math.max(...tested.mock.calls.map(([text]) => text.length))).toBeLessThan(1000);
  } finally {
    tested.mockRestore();
  }
});
