import { foldName, isBlank, isLongerThan, normalize, trimLine } from '@commonplace/kit/words';
import { describe, expect, test } from '@jest/globals';

describe('the length of a text', () => {
  test('is counted in code points', () => {
    for (const one of ['a', 'é', '漢', '😀', '\ud800']) {
      expect([3, 4, 5].map((count) => isLongerThan(one.repeat(count), 4))).toEqual([false, false, true]);
    }
    expect(isLongerThan('', 0)).toBe(false);
    expect(isLongerThan('a', 0)).toBe(true);
    expect(isLongerThan('', -1)).toBe(true);
    expect(isLongerThan('a', Number.POSITIVE_INFINITY)).toBe(false);
  });
});

describe('a text of which nothing can be seen', () => {
  test.each([
    '',
    ' \t\n\u00a0',
    '\u200b\u200d\ufeff',
    '\u00ad',
    '\u3164\u115f',
    '\u2800',
    '\ufe0f',
    '\u202e',
    '\u{e0041}',
  ])('is blank, and as a line empty: %j', (text) => {
    expect([isBlank(text), trimLine(text)]).toEqual([true, '']);
  });

  test.each(['a', '\u0301', '👨‍👩‍👧', '❤️', 'ع‌لی', '\u0600', '🏴\u{e0067}\u{e007f}'])(
    'is none with one character that can be seen: %j',
    (text) => {
      expect([isBlank(text), trimLine(` ${text}\n`)]).toEqual([false, text]);
    },
  );
});

describe('normalization', () => {
  const FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const;

  test.each(FORMS)('is that of Unicode for texts as people write them: %s', (form) => {
    for (const one of ['Grüße, ﬁne', 'हिन्दी', 'ｶﾞｲﾄﾞ', 'ไทย', '한글', `a${'\u0315\u0316'.repeat(15)}b`]) {
      const text = `${one} `.repeat(100);
      expect(normalize(text, form)).toBe(text.normalize(form));
    }
  });

  test.each(FORMS)('takes a time in proportion to the marks of one letter: %s', (form) => {
    const since = process.cpuUsage();
    for (const marks of ['\u0315\u0316', '\uff9e\u0315']) normalize(`a${marks.repeat(20_000)}`, form);
    expect(process.cpuUsage(since).user).toBeLessThan(300_000);
  });

  test('of a folded text parts its marks by joiners', () => {
    expect(foldName(`A${'\u0316'.repeat(300)}`)).toMatch(/^a(?:\u0316{30}\u034f){9}\u0316{30}$/);
  });
});
