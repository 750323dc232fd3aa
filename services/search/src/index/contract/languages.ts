import { expect, test } from '@jest/globals';
import { entry, marked, type Use } from './harness.js';

const TEXTS: Readonly<Record<string, string>> = {
  zh: '我们需要大量训练数据来提高搜索质量',
  ja: '全文検索エンジンの設定について説明します',
  ko: '검색엔진의 품질을 높이는 방법',
  th: 'การค้นหาข้อความภาษาไทย',
  mixed: '请用iPhone手机登录VPN网络',
};

/** Yields each substring of a text, by code points. */
function* substrings(text: string): Generator<string> {
  const points = [...text];
  for (let start = 0; start < points.length; start++) {
    for (let end = start + 1; end <= points.length; end++) yield points.slice(start, end).join('');
  }
}

export function languageDuties(use: Use): void {
  test('finds emoji, alone and beside words', async () => {
    const { hold, ids } = use();
    await hold(
      entry('a', { name: 'Release 🎉', text: 'Done🚀 and ❤️ to all' }),
      entry('b', { text: 'Wave 👋🏽 from 🇩🇪🇫🇷 by 👩‍💻' }),
      entry('c', { text: 'Release without a party → © 2020' }),
    );
    for (const [query, found] of [
      ['🎉', ['a']],
      ['🚀', ['a']],
      ['❤', ['a']],
      ['👋', ['b']],
      ['👋🏽', ['b']],
      ['🇫🇷', ['b']],
      ['🇪🇫', []],
      ['👩‍💻', ['b']],
      ['💻', ['b']],
      ['"release 🎉"', ['a']],
      ['→', []],
    ] as const) {
      expect([query, await ids(query)]).toEqual([query, found]);
    }
    expect((await ids('release 🎉'))[0]).toBe('a');
  });

  for (const [language, text] of Object.entries(TEXTS)) {
    test(`finds every substring (${language})`, async () => {
      const { hold, ids } = use();
      await hold(entry('it', { text: `Before. ${text}。 After.` }), entry('not', { text: 'else' }));
      const missed: string[] = [];
      for (const part of substrings(text)) {
        // This duty does not cover parts of Latin words or surrounding white space.
        if (/^[a-z]|[a-z]$/i.test(part) || part.trim() !== part || /^\p{M}/u.test(part)) continue;
        if (!(await ids(part)).includes('it')) missed.push(part);
      }
      expect(missed).toEqual([]);
    });
  }

  test('finds only substrings, and ranks the whole above its parts', async () => {
    const { hold, ids } = use();
    await hold(
      entry('parts', { text: '数据很多,需要训练' }),
      entry('whole', { text: '这里有训练数据' }),
      entry('none', { text: '没有' }),
    );
    expect(await ids('数训')).toEqual([]);
    expect(await ids('训练数据')).toEqual(['whole', 'parts']);
    expect(await ids('"训练数据"')).toEqual(['whole']);
  });

  test('ranks the whole above its parts if single characters stand beside a word', async () => {
    const { hold, ids, only } = use();
    const whole = entry('whole', { text: '東京都の庁舎について' });
    await hold(whole);
    expect(marked((await only('東京都')).snippets.text)).toEqual(['東京都']);
    await hold(entry('parts', { text: '京都府の寺。京都の紅葉、京都の寺院' }), whole);
    expect(await ids('東京都')).toEqual(['whole', 'parts']);
  });

  test('matches simplified and traditional Chinese', async () => {
    const { hold, ids, only } = use();
    await hold(entry('t', { text: '繁體中文檢索' }), entry('x', { text: 'else' }));
    expect(await ids('繁体中文')).toEqual(['t']);
    expect(marked((await only('检索')).snippets.text)).toEqual(['檢索']);
    await hold(entry('s', { text: '简体中文检索' }));
    expect(await ids('簡體')).toEqual(['s']);
  });

  test('matches half-width and composed forms', async () => {
    const { hold, ids } = use();
    await hold(entry('k', { text: 'ｶﾞｲﾄﾞ' }), entry('h', { text: '한글'.normalize('NFD') }), entry('l', { text: 'ﬁne' }));
    expect(await ids('ガイド')).toEqual(['k']);
    expect(await ids('한글')).toEqual(['h']);
    expect(await ids('fine')).toEqual(['l']);
  });

  test('finds a word or a single character within text without spaces', async () => {
    const { hold, ids } = use();
    await hold(
      entry('zh', { text: '深度学习模型需要大量训练数据' }),
      entry('ja', { text: '東京都庁は西新宿にあります' }),
      entry('other', { text: '天气很好' }),
    );
    for (const query of ['训练', '训练数据', '度', '数', '据', '模型 数据', '"大量训练"', '訓練']) {
      expect([query, await ids(query)]).toEqual([query, ['zh']]);
    }
    for (const query of ['東京', '都庁', '庁', '新宿', '京都', 'あり']) {
      expect([query, await ids(query)]).toEqual([query, ['ja']]);
    }
    expect(await ids('训练 -模型')).toEqual([]);
    expect((await ids('-模型')).sort()).toEqual(['ja', 'other']);
  });

  test('finds Korean words with and without their particles', async () => {
    const { hold, ids } = use();
    await hold(
      entry('a', { text: '검색을 하면 결과가 나옵니다' }),
      entry('b', { text: '서울특별시에서 만나요' }),
      entry('c', { text: '날씨가 좋아요' }),
    );
    for (const query of ['검색', '검색을', '결과', '결과가']) expect([query, await ids(query)]).toEqual([query, ['a']]);
    for (const query of ['서울', '특별시', '서울특별시', '서울특별시에서']) {
      expect([query, await ids(query)]).toEqual([query, ['b']]);
    }
  });

  test('ignores accents in all their forms', async () => {
    const { hold, ids } = use();
    await hold(
      entry('a', { text: 'Crème brûlée, naïve façade, Ångström, Việt Nam, Łódź, jalapeño' }),
      entry('b', { text: 'plain' }),
    );
    const queries = ['creme brulee', 'CRÈME', 'naive', 'facade', 'angstrom', 'viet nam', 'lodz', 'jalapeno'];
    for (const query of queries) {
      expect([query, await ids(query)]).toEqual([query, ['a']]);
      expect([query, await ids(query.normalize('NFD'))]).toEqual([query, ['a']]);
    }
  });
}
