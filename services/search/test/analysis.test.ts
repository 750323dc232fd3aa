import { analyse, emptyToken, fold, nextToken, originalRange } from '@commonplace/kit/analysis';
import { describe, expect, test } from '@jest/globals';

const terms = (text: string): string[] => analyse(text).terms.split(' ');

/** Returns each term with the part of the original that it stands for. */
function pieces(text: string): [string, string][] {
  const folded = fold(text);
  const found: [string, string][] = [];
  let at = 0;
  for (let token = emptyToken(); nextToken(folded.text, at, token); token = emptyToken()) {
    at = token.next;
    found.push([token.term, text.slice(...originalRange(folded, token.start, token.end))]);
  }
  return found;
}

describe('analysis', () => {
  test.each([
    ['Deploying deployments, DEPLOYED!', ['deploy', 'deploy', 'deploy']],
    ["don't O’Brien the company's rock'n'roll 'quoted'", ['dont', 'obrien', 'the', 'compani', 'rocknrol', 'quot']],
    ['foo_bar v1.2 a-b 1,000', ['foo', 'bar', 'v1', '2', 'a', 'b', '1', '000']],
    ['getUserById HTTPServer', ['getuserbyid', 'httpserver']],
    ['https://ex.com/a?b=1#c', ['https', 'ex', 'com', 'a', 'b', '1', 'c']],
    ['Ünïcödé Straße Łódź ﬁne Ｆｕｌｌ ½ m²', ['unicod', 'strass', 'lodz', 'fine', 'full', '1', '2', 'm2']],
    ['Привет ёлка', ['привет', 'елка']],
    ['Acme™ 🎉 ok', ['acm', '🎉', 'ok']],
    ['数据', ['数据', '据']],
    ['訓練資料 A', ['训练', '练资', '资料', '料', 'a']],
    ['ｶﾞｲﾄﾞ', ['ガイ', 'イド', 'ド']],
    ['用iPhone手机', ['用', 'iphon', '手机', '机']],
    ['𠮷野', ['𠮷野', '野']],
    ['मानक हिन्दी', ['मानक', 'हिन्दी']],
  ])('%s', (text, expected) => {
    expect(terms(text)).toEqual(expected);
  });

  test('gives composed and decomposed texts the same terms', () => {
    for (const text of ['Café Ångström', 'ガギグ', '한글 검색', 'क़लम', 'Việt Nam']) {
      expect(terms(text.normalize('NFD'))).toEqual(terms(text.normalize('NFC')));
    }
  });

  test('keeps the positions of terms in the original', () => {
    expect(pieces('ﬁne Cafe\u0301s ｶﾞx a\u00adb 𝐛old end')).toEqual([
      ['fine', 'ﬁne'],
      ['cafe', 'Cafe\u0301s'],
      ['ガ', 'ｶﾞ'],
      ['x', 'x'],
      ['ab', 'a\u00adb'],
      ['bold', '𝐛old'],
      ['end', 'end'],
    ]);
  });

  test('collects words as written, and truncates long terms', () => {
    expect([...analyse('Policies 数据 v2').words]).toEqual(['policies', 'v2']);
    expect(terms('x'.repeat(1000))).toEqual(['x'.repeat(64)]);
  });

  test('accepts any text', () => {
    for (const text of ['', ' ', '\0', '\ud800', 'a\udc00b', '\u3099', '\u0301', '\uff9e', 'ᅡ', '\u200d']) {
      expect(() => analyse(text)).not.toThrow();
    }
  });

  test.each([
    ['か\u3099', 'が'],
    ['ﾊ\uff9f', 'パ'],
    ['か\u309a', 'か\u309a'],
    ['か\u3099\u3099', 'が\u3099'],
    ['\u1112\u1161\u11ab', '한'],
    ['가\u11a8\u11a8', '각\u11a8'],
    ['x\u1161', 'x\u1161'],
    ['㌀\u3099', 'アパード'],
  ])('composes %s', (text, folded) => {
    expect(fold(text).text).toBe(folded);
    expect(fold(text).text).toBe(text.normalize('NFKC'));
  });

  test.each(['か\u3099', 'ᄀ\u1161'])('folds %s in proportion to the characters that follow a letter', (text) => {
    const [base = '', composing = ''] = text;
    const since = process.cpuUsage();
    for (let i = 0; i < 100; i++) expect(fold(base + composing.repeat(20_000)).text.length).toBeGreaterThan(0);
    // Eight seconds when each was normalized with those before it.
    expect(process.cpuUsage(since).user).toBeLessThan(3_000_000);
  });
});
