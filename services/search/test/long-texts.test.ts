import { analyse } from '@commonplace/kit/analysis';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { blocksOf } from '../src/domain/blocks.js';
import { analyseChanged, createKnownBlocks } from '../src/index/sqlite/long-texts.js';

const lineOf = (i: number) => `Row ${i} · ${(i * 7919) % 1000} · delivered in good shape`;
const tableOf = (rows: number) => Array.from({ length: rows }, (_, i) => lineOf(i)).join('\n');

/**
 * Returns a function that analyses a text which replaces another, and returns its terms and the number of analysed
 * blocks.
 */
function createAnalyser() {
  const known = createKnownBlocks();
  const words = new Set<string>();
  return (text: string, tenant = 1) => {
    let analysed = 0;
    const terms = analyseChanged(known, tenant, text, (added) => {
      analysed++;
      for (const word of added) words.add(word);
    });
    return { terms, analysed, words };
  };
}

test('blocks have together the same terms as the whole text', () => {
  const piece = fc.constantFrom(
    'Deploying',
    "don't",
    '训练资料',
    'ｶ',
    '\u3099',
    'ﾞ',
    '\u0301',
    '\u00ad',
    'é',
    '𠮷',
    '\u{1f389}',
    "'",
    ' ',
    '\n',
    '\n\n',
    '\r\n',
    'x'.repeat(200),
  );
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (pieces, times) => {
      const text = pieces.join('').repeat(times);
      const blocks = blocksOf(text);
      expect(blocks.join('')).toBe(text);
      const terms = blocks.map((block) => analyse(block).terms).filter((some) => some !== '');
      expect(terms.join(' ')).toBe(analyse(text).terms);
    }),
    { numRuns: 200 },
  );
});

test.each([
  ['all lines are different', tableOf(4000)],
  ['all lines are the same', `${lineOf(1)}\n`.repeat(4000)],
])('analyses only new parts of a changed long text: %s', (_what, text) => {
  const analyser = createAnalyser();
  const first = analyser(text);
  expect(first.terms).toBe(analyse(text).terms);
  const longer = `${text}\nA new row of Ada Lovelace`;
  const second = analyser(longer);
  expect(second.terms).toBe(analyse(longer).terms);
  expect(second.words.has('lovelace')).toBe(true);
  expect(second.analysed).toBeLessThanOrEqual(2);
  expect(analyser(longer).analysed).toBe(0);
});

test('a change in the middle changes few blocks', () => {
  const analyser = createAnalyser();
  const first = analyser(tableOf(4000));
  expect(first.analysed).toBeGreaterThan(20);
  const changed = tableOf(4000).replace(lineOf(2000), `${lineOf(2000)}, and then a good deal more than before`);
  const second = analyser(changed);
  expect(second.terms).toBe(analyse(changed).terms);
  expect(second.analysed).toBeLessThanOrEqual(4);
});

test('a text that is cached for one tenant adds its words to the vocabulary of another', () => {
  const analyser = createAnalyser();
  const { analysed } = analyser(tableOf(1000));
  expect(analyser(tableOf(1000), 2).analysed).toBe(analysed);
});
