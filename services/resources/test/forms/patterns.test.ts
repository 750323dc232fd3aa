import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openDeriver } from '../../src/documents/kind/deriver.js';
import { checkFieldPatterns, createFindMismatches } from '../../src/forms/patterns.js';
import { createFormFaults } from '../../src/forms/reader.js';
import { checkPatterns, patternFaults } from '../../src/patterns/match.js';

const matches = (pattern: string, text: string) => checkPatterns([{ pattern, text }])[0] === 'matches';
const inJavaScript = (pattern: string, text: string) => new RegExp(`^(?:${pattern})$`, 'u').test(text);

describe('patterns match like in a browser', () => {
  const PATTERNS = [
    String.raw`\d{5}`,
    '[A-Z]{3}|x',
    'a|ab|abc',
    String.raw`(?<year>\d{4})-(?<month>\d\d)`,
    String.raw`[\w.+\-]+@[\w\-]+\.[a-z]{2,}`,
    '.',
    '..',
    String.raw`\s+`,
    String.raw`\S*`,
    String.raw`[\s]`,
    String.raw`[^\s]`,
    String.raw`[\S]`,
    String.raw`[^\S]`,
    String.raw`[\s\S]{2}`,
    '[^]',
    '[]|a',
    '[[:alpha:]'.replace(':alpha:]', 'a]'),
    String.raw`\u0041\x42\u{43}`,
    String.raw`\uD83D\uDE00`,
    String.raw`\cA`,
    String.raw`[\b]`,
    String.raw`\0`,
    String.raw`\p{L}+`,
    String.raw`\p{Script=Greek}+`,
    String.raw`\P{Lu}`,
    String.raw`\/\(\)\[\]\{\}`,
    '^a$',
    String.raw`\bab\b`,
    String.raw`[\d\-]+`,
    '(?:a*)*b?',
    '(a|b)*?c{0,3}',
  ];
  const TEXTS = fc.oneof(
    fc.constantFrom('', 'a', 'ab', 'abc', 'ABC', 'x', '12345', '2026-01', 'me@b.co', '\n', '\r', '\u2028', '\u00a0'),
    fc.constantFrom(
      '\v',
      ' ',
      '\ufeff',
      '\u3000',
      '😀',
      '\u0001',
      '\b',
      '\0',
      'αβγ',
      '/()[]{}',
      '[',
      '1-2',
      'é',
      'Z',
      'aab',
      'bcc',
    ),
    fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '-', ' ', '\n', '\u2003', 'é', '😀'), maxLength: 4 }),
  );

  test('for every construct', () => {
    expect(patternFaults(PATTERNS).filter((fault) => fault !== undefined)).toEqual([]);
    fc.assert(
      fc.property(fc.constantFrom(...PATTERNS), TEXTS, (pattern, text) => {
        expect([pattern, text, matches(pattern, text)]).toEqual([pattern, text, inJavaScript(pattern, text)]);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('patterns that are refused', () => {
  test.each([
    ['(', 'must be a regular expression.'],
    ['(?=a)b', 'looks ahead or behind'],
    ['(?<!a)b', 'looks ahead or behind'],
    [String.raw`(a)\1`, 'refers back'],
    [String.raw`(?<n>a)\k<n>`, 'refers back'],
    ['a{2000}', 'more than 1000 times'],
    ['(?:a{1,100}){1,100}', 'more than 1000 times'],
    [String.raw`(?:\w{900}){1}`.repeat(4), 'is too large'],
    [String.raw`\p{Script_Extensions=Greek}`, 'property of characters'],
  ])('%s', (pattern, words) => {
    expect(patternFaults([pattern])[0]).toContain(words);
  });
});

describe('slow patterns', () => {
  const deriver = openDeriver({ documentThreads: 2, documentSeconds: 60, documentsWaiting: 100 });
  afterAll(() => deriver.close());
  const findMismatches = createFindMismatches(deriver);
  const many = (pattern: string, text: string) =>
    Array.from({ length: 100 }, (_, i) => ({ param: `values.f${i}`, pattern, text }));

  test('a hundred patterns with catastrophic backtracking take linear time', async () => {
    const faults = await findMismatches('org', many('(a+)+b', 'a'.repeat(50)));
    expect(faults).toHaveLength(100);
    expect(faults[0]).toEqual({
      param: 'values.f0',
      code: 'invalid_value',
      message: 'does not match the required pattern.',
    });
    expect(await findMismatches('org', many('(a+)+b', `${'a'.repeat(1000)}b`))).toEqual([]);
  });

  test('stored patterns that backtrack share one time budget', async () => {
    const faults = await findMismatches('org', many('(?=(a+)+b)x', 'a'.repeat(60)));
    expect(faults).toHaveLength(100);
    expect(faults[0]?.message).toContain('takes too long');
    // Such patterns are still matched.
    const [fits, differs] = await Promise.all(
      ['ab', 'b'].map((text) => findMismatches('org', [{ param: 'values.f', pattern: '(?=a).*', text }])),
    );
    expect([fits, differs]).toEqual([[], [expect.objectContaining({ param: 'values.f' })]]);
  });

  test('patterns that still take too long are given up, and others are matched meanwhile', async () => {
    const wide = 'x'.repeat(100_000);
    const late = findMismatches('org', many('[xy]*x[xy]{990}z', wide));
    expect(await findMismatches('other', [{ param: 'values.f', pattern: 'a+', text: 'aa' }])).toEqual([]);
    for (const { code } of await late) expect(code).toBe('invalid_value');
  });

  test('reports each unusable pattern of a form, except unchanged ones', async () => {
    const field = (id: string, pattern: string) => ({ id, type: 'short_text', label: id, pattern }) as const;
    const fields = [field('new', '(?=a)'), field('old', '(?=a)'), field('fine', 'a+')];
    const faults = createFormFaults();
    await checkFieldPatterns(deriver, 'org', fields, [field('old', '(?=a)')], faults);
    expect(faults.list.map(({ param }) => param)).toEqual(['config.fields[0].pattern']);
  });
});
