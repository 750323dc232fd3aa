import { expect, test } from '@jest/globals';
import { entry, everythingIn, marked, type Use } from './harness.js';

export function relevanceDuties(use: Use): void {
  test('ranks entries with all terms above those with some', async () => {
    const { hold, ids, ask } = use();
    await hold(
      entry('some', { name: 'Travel', text: 'travel travel travel travel' }),
      entry('all', { name: 'Notes', text: `${'filler '.repeat(300)} travel costs are paid within a month` }),
      entry('none', { name: 'Other', text: 'nothing of the kind' }),
    );
    expect(await ids('travel costs')).toEqual(['all', 'some']);
    const { hits } = await ask('travel costs');
    expect(hits[0]?.score).toBeGreaterThanOrEqual(0.5);
    expect(hits[1]?.score).toBeLessThan(0.5);
    expect(hits[0]?.score).toBeLessThanOrEqual(1);
    expect(hits[1]?.score).toBeGreaterThanOrEqual(0);
  });

  test('weighs a word in the name more than one in the text', async () => {
    const { hold, ids } = use();
    await hold(
      entry('text', { name: 'Minutes of May', text: 'We spoke about the budget and about lunch.' }),
      entry('name', { name: 'The budget', text: 'We spoke about many things and about lunch.' }),
      entry('other', { name: 'Else', text: 'Nothing.' }),
    );
    expect(await ids('budget')).toEqual(['name', 'text']);
  });

  test('weighs a word in the name more even if most texts contain it', async () => {
    const { hold, ids } = use();
    const texts = Array.from({ length: 30 }, (_, i) => entry(`text-${i}`, { text: 'We spoke about the budget.' }));
    await hold(...texts, entry('name', { name: 'The budget', text: 'We spoke about lunch and about many things.' }));
    for (const query of ['budget', 'budget ', 'budg', '"budget"']) expect((await ids(query))[0]).toBe('name');
  });

  test('weighs rare words and short texts more, and finds other forms of words', async () => {
    const { hold, ids } = use();
    await hold(
      entry('long', { text: `deployed ${'word '.repeat(400)}` }),
      entry('short', { text: 'how we deploy' }),
      entry('policy', { text: 'All policies in one place' }),
      entry('none', { text: 'no such thing' }),
    );
    expect(await ids('deploying ')).toEqual(['short', 'long']);
    expect(await ids('policy')).toEqual(['policy']);
  });

  test('ignores case, accents and width', async () => {
    const { hold, ids } = use();
    await hold(entry('cafe', { text: 'Le Café est Ｆｕｌｌ, Straße, don’t' }));
    for (const query of ['CAFE', 'café', 'cafe\u0301', 'full', 'ＦＵＬＬ', 'strasse', "don't", 'dont']) {
      expect([query, await ids(query)]).toEqual([query, ['cafe']]);
    }
  });

  test('finds identifiers, versions and addresses by their parts and as a whole', async () => {
    const { hold, ids } = use();
    await hold(
      entry('code', { text: 'call foo_bar in v1.2 of https://docs.example.com/start?id=7 or getUserById' }),
      entry('other', { text: 'foo and bar, version 2' }),
    );
    expect(await ids('foo_bar')).toEqual(['code', 'other'].slice(0, 1));
    for (const query of ['v1.2', 'https://docs.example.com/start', 'example.com', 'getuserbyid', 'getUser']) {
      expect([query, await ids(query)]).toEqual([query, ['code']]);
    }
  });

  test('treats the last word as a prefix unless a space follows', async () => {
    const { hold, ids } = use();
    await hold(
      entry('a', { text: 'Kubernetes clusters' }),
      entry('b', { text: 'a kubelet' }),
      entry('c', { text: 'x' }),
    );
    expect((await ids('kub')).sort()).toEqual(['a', 'b']);
    expect(await ids('kub ')).toEqual([]);
    expect(await ids('"kub"')).toEqual([]);
    expect(await ids('kuberne')).toEqual(['a']);
    expect(await ids('kub clusters')).toEqual(['a']);
  });

  test('ranks exact matches of the last word above its completions', async () => {
    const { hold, ids, ask } = use();
    const longer = Array.from({ length: 12 }, (_, i) =>
      entry(`longer-${i}`, { text: 'red planets of plantations, planed' }),
    );
    await hold(...longer, entry('whole', { text: `${'filler '.repeat(60)} red plan` }), entry('red', { text: 'red' }));
    expect((await ids('red plan'))[0]).toBe('whole');
    const { hits, total } = await ask('red plan', { limit: 20 });
    expect(total).toBe(14);
    expect(hits.filter(({ score }) => score >= 0.5).map(({ id }) => id)).toEqual(['whole']);
    expect(hits.at(-1)?.id).toBe('red');
    expect((await ids('red plan', { every: true, limit: 20 })).length).toBe(13);
  });

  test('finds a word by a prefix that is longer than its stem', async () => {
    const { hold, ids } = use();
    await hold(entry('a', { text: 'Deploying services' }), entry('b', { text: 'nothing' }));
    expect(await ids('deployin')).toEqual(['a']);
  });

  test('tolerates one typo from five letters, and two from nine', async () => {
    const { hold, ids } = use();
    await hold(
      entry('k', { text: 'Kubernetes and teams, the vacation, an onboarding' }),
      entry('x', { text: 'other' }),
    );
    for (const query of ['kubernets', 'kubrenetes', 'kubernettess', 'vacatoin', 'vaction', 'xacation', 'onbaording ']) {
      expect([query, await ids(query)]).toEqual([query, ['k']]);
    }
    expect(await ids('taem ')).toEqual([]);
    expect(await ids('vacxxion')).toEqual([]);
    expect(await ids('"vaction"')).toEqual([]);
  });

  test('tolerates a typo in each place of a word', async () => {
    const { hold, ids } = use();
    const words = ['kubernetes', 'vacation', 'support'];
    await hold(...words.map((word) => entry(word, { name: 'x', text: word })));
    for (const word of words) {
      for (let i = 0; i < word.length - 1; i++) {
        const [before, letter, after] = [word.slice(0, i), word.charAt(i), word.slice(i + 1)];
        const swapped = `${before}${after.charAt(0)}${letter}${after.slice(1)}`;
        for (const typo of [`${before}${after}`, `${before}z${word.slice(i)}`, `${before}z${after}`, swapped]) {
          expect([typo, await ids(`${typo} `)]).toEqual([typo, [word]]);
        }
      }
    }
  });

  test('tolerates two typos at the beginning of a long word', async () => {
    const { hold, ids } = use();
    await hold(entry('a', { name: 'x', text: 'observability' }));
    const typos = ['servability', 'xxobservability', 'xobserability', 'bservabilty', 'oxservabilit', 'zbservabilitty'];
    for (const typo of typos) expect([typo, await ids(`${typo} `)]).toEqual([typo, ['a']]);
  });

  test('corrects to the nearest words, of equally near ones to those with the same first letter', async () => {
    const { hold, ids } = use();
    await hold(
      entry('deployment', { name: 'x', text: 'deployment' }),
      entry('employment', { name: 'x', text: 'employment' }),
      entry('networking', { name: 'x', text: 'networking' }),
      entry('ethorkings', { name: 'x', text: 'ethorkings' }),
    );
    expect(await ids('eployment ')).toEqual(['employment']);
    expect(await ids('etworking ')).toEqual(['networking']);
  });

  test('does not correct a word that a text contains', async () => {
    const { hold, ids } = use();
    await hold(entry('a', { text: 'planet' }), entry('b', { text: 'planer' }));
    expect(await ids('planet ')).toEqual(['a']);
  });

  test('finds phrases in their order, and excludes negative words', async () => {
    const { hold, ids } = use();
    await hold(
      entry('phrase', { text: 'a code review of mine' }),
      entry('apart', { text: 'review of the code' }),
      entry('split', { name: 'the code', text: 'review it' }),
    );
    expect(await ids('"code review"')).toEqual(['phrase']);
    expect(await ids('"review code"')).toEqual([]);
    expect((await ids('code -mine')).sort()).toEqual(['apart', 'split']);
    expect((await ids('review -"code review"')).sort()).toEqual(['apart', 'split']);
  });

  test('ignores stop words unless there are no others', async () => {
    const { hold, ids } = use();
    await hold(entry('a', { text: 'reset your password' }), entry('b', { text: 'who was it' }));
    expect(await ids('how to reset the password ')).toEqual(['a']);
    expect(await ids('who ')).toEqual(['b']);
  });

  test('finds nothing for an empty query', async () => {
    const { hold, ask } = use();
    await hold(entry('a', { text: 'text' }));
    for (const query of ['', '   ', '!!!', '""', '-', '🎉']) expect((await ask(query)).hits).toEqual([]);
    expect(await ask('text', { filter: everythingIn('ws-unknown') })).toMatchObject({
      hits: [],
      total: 0,
      more: false,
    });
  });

  test('returns pages without gaps or repetitions, and an exact total', async () => {
    const { hold, ask } = use();
    const all = Array.from({ length: 25 }, (_, i) =>
      entry(`p${i}`, { text: `page ${i % 3 === 0 ? 'turner' : 'reader'}` }),
    );
    await hold(...all);
    const found: string[] = [];
    for (let offset = 0; offset < 30; offset += 10) {
      const answer = await ask('page turner', { offset, limit: 10 });
      expect(answer).toMatchObject({ total: 25, totalIsEstimate: false, more: offset + 10 < 25 });
      found.push(...answer.hits.map(({ id }) => id));
    }
    expect(new Set(found).size).toBe(25);
    expect(found.slice(0, 9).every((id) => Number(id.slice(1)) % 3 === 0)).toBe(true);
  });

  test('leaves out hits below a minimum score', async () => {
    const { hold, ask, ids } = use();
    await hold(entry('all', { text: 'red green' }), entry('some', { text: 'red' }), entry('none', { text: 'blue' }));
    expect(await ids('red green', { minScore: 0.5 })).toEqual(['all']);
    const { hits } = await ask('red green', { minScore: 0.01 });
    expect(hits.length).toBe(2);
    expect((await ask('red green', { minScore: 1 })).total).toBe(0);
  });

  test('searches comments only when they are requested', async () => {
    const { index, hold, ask, ids, only } = use();
    const words = ['cedar cedar', 'We met Björn, 東京都庁'];
    await hold(
      entry('said', { name: 'Plan', text: 'elm', comments: words }),
      entry('written', { name: 'Cedar', text: 'cedar and elm' }),
      entry('neither', { text: 'elm' }),
    );
    expect(await ids('cedar')).toEqual(['written']);
    expect(await ids('bjorn')).toEqual([]);
    for (const query of ['cedar', 'ced', 'bjorn', '京都', '"met bjorn"', 'cedars', 'ceder', 'plan -written cedar']) {
      expect([query, await ids(query, { fields: ['comments'] })]).toEqual([query, ['said']]);
    }
    expect(await ids('elm', { fields: ['comments'] })).toEqual([]);
    expect((await ids('cedar', { fields: ['name', 'text', 'comments'] })).sort()).toEqual(['said', 'written']);
    expect(await ids('plan cedar', { fields: ['name', 'comments'] })).toEqual(['said', 'written']);
    expect(await ids('elm -cedar', { fields: ['text', 'comments'] })).toEqual(['neither']);
    expect((await ids('-cedar', { fields: ['comments'] })).sort()).toEqual(['neither', 'written']);
    const hit = await only('bjorn', { fields: ['text', 'comments'] });
    expect([hit.matchedIn, marked(hit.snippets.comments)]).toEqual([['comments'], ['Björn']]);
    const { facets, total } = await ask('cedar', { fields: ['text', 'comments'], facets: ['type'] });
    expect([total, facets.type]).toEqual([2, [['RESOURCE_TYPE_DOCUMENT', 2]]]);
    await index.upsert([entry('said', { name: 'Plan', text: 'elm', comments: ['maple'] })]);
    expect(await ids('cedar', { fields: ['comments'] })).toEqual([]);
    expect(await ids('maple', { fields: ['comments'] })).toEqual(['said']);
    await index.upsert([entry('said', { name: 'Plan', text: 'oak' })]);
    expect(await ids('maple', { fields: ['comments'] })).toEqual([]);
    await index.upsert([entry('neither', { text: 'elm', comments: ['maple'] })]);
    await index.remove(['neither']);
    expect(await ids('maple', { fields: ['comments'] })).toEqual([]);
  });

  test('searches a single field', async () => {
    const { hold, ids, only } = use();
    await hold(entry('n', { name: 'Apple', text: 'pear' }), entry('t', { name: 'Pear', text: 'apple' }));
    expect(await ids('apple', { fields: ['name'] })).toEqual(['n']);
    expect(await ids('apple', { fields: ['text'] })).toEqual(['t']);
    expect((await only('apple', { fields: ['text'] })).matchedIn).toEqual(['text']);
  });
}
