import { expect, test } from '@jest/globals';
import { compareText, sortTexts } from '../../src/tables/text-order.js';

/** Creates a generator of whole numbers below a limit that returns the same ones in each run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const PIECES = [
  'a',
  'A',
  'b',
  'B',
  'z',
  '0',
  '00',
  '1',
  '9',
  '10',
  '007',
  ' ',
  '-',
  '_',
  '.',
  ',',
  "'",
  '$',
  '~',
  '(',
  '@',
];
const MARKED = ['é', 'É', 'ä', 'ǻ', 'ṩ', 'ø', 'ł', 'İ', '数', '据', '北', '京', '㐀', '一'];
const UNUSUAL = ['é', 'ß', '数', '\t', '\u0001', '\u0301', 'ａ', '😀', '\ud840\udc00', 'か', '１'];

test('orders texts like the collator, whatever they contain', async () => {
  const random = createRandom(7);
  const from = (pieces: readonly string[], most: number): string =>
    Array.from({ length: random(most) }, () => pieces[random(pieces.length)]).join('');
  const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
  const long = 'the same words at the beginning of every text, more than a key contains, 1';
  const texts = [
    ...Array.from({ length: 400 }, () => from(PIECES, 6)),
    ...Array.from({ length: 600 }, () => from([...PIECES, ...MARKED], 6)),
    ...Array.from({ length: 400 }, () => from([...PIECES, ...MARKED, ...UNUSUAL], 5)),
    ...Array.from({ length: 0x250 - 0xa0 }, (_, i) => `${String.fromCharCode(0xa0 + i)}${PIECES[i % PIECES.length]}`),
    ...Array.from({ length: 200 }, () => from(printable, 4)),
    ...Array.from({ length: 50 }, () => long + from(PIECES, 4)),
    ...['1', '2', '12'].map((digits) => digits.repeat(200)),
    ...['1', '2'].map((digits) => `x${digits.repeat(300)}`),
  ];
  const order = await sortTexts(texts, async () => {});
  const sorted = [...texts.keys()].sort((a, b) => compareText(texts[a] as string, texts[b] as string));
  expect([...order].map((at) => texts[at])).toEqual(sorted.map((at) => texts[at]));
  expect([...order]).toEqual(sorted);
});

test('long texts are compared by their beginnings, as marks in a row take a time that grows with their square', () => {
  const marks = `a${'\u0315\u0316'.repeat(20_000)}`;
  const since = process.cpuUsage();
  expect([compareText(marks, `${marks}\u0316`), compareText(`${marks}b`, `${marks}a`)]).toEqual([-1, 1]);
  expect(process.cpuUsage(since).user).toBeLessThan(300_000);
});
