import { expect, test } from '@jest/globals';
import { entry, everythingIn, marked, type Use } from './harness.js';

export function relevanceDuties(use: Use): void {
  test('what has all terms stands above what has some', async () => {
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

  test('a word in the name counts more than in the text', async () => {
    const { hold, ids } = use();
    await hold(
      entry('text', { name: 'Minutes of May', text: 'We spoke about the budget and about lunch.' }),
      entry('name', { name: 'The budget', text: 'We spoke about many things and about lunch.' }),
      entry('other', { name: 'Else', text: 'Nothing.' }),
    );
    expect(await ids('budget')).toEqual(['name', 'text']);
  });

  test('so it does where most texts have the word, however many there are', async () => {
    const { hold, ids } = use();
    const texts = Array.from({ length: 30 }, (_, i) => entry(`text-${i}`, { text: 'We spoke about the budget.' }));
    await hold(...texts, entry('name', { name: 'The budget', text: 'We spoke about lunch and about many things.' }));
    for (const query of ['budget', 'budget ', 'budg', '"budget"']) expect((await ids(query))[0]).toBe('name');
  });

  test('rare words and short texts count more, and words are found in their other forms', async () => {
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

  test('case, accents and width make no difference', async () => {
    const { hold, ids } = use();
    await hold(entry('cafe', { text: 'Le Café est Ｆｕｌｌ, Straße, don’t' }));
    for (const query of ['CAFE', 'café', 'cafe\u0301', 'full', 'ＦＵＬＬ', 'strasse', "don't", 'dont']) {
      expect([query, await ids(query)]).toEqual([query, ['cafe']]);
    }
  });

  test('identifiers, versions and addresses are found by their parts and whole', async () => {
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

  test('the last word may be the beginning of one, unless it is closed', async () => {
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

  test('a last word that is there as it is written stands above the words that it begins, however many these are', async () => {
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

  test('a beginning that is longer than the stem finds the word', async () => {
    const { hold, ids } = use();
    await hold(entry('a', { text: 'Deploying services' }), entry('b', { text: 'nothing' }));
    expect(await ids('deployin')).toEqual(['a']);
  });

  test('one typo is forgiven from five letters on, two from nine on', async () => {
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

  test('a word that is there is not corrected', async () => {
    const { hold, ids } = use();
    await hold(entry('a', { text: 'planet' }), entry('b', { text: 'planer' }));
    expect(await ids('planet ')).toEqual(['a']);
  });

  test('phrases are found in order, negative words keep out', async () => {
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

  test('words that say nothing are not asked for, unless they are all there is', async () => {
    const { hold, ids } = use();
    await hold(entry('a', { text: 'reset your password' }), entry('b', { text: 'who was it' }));
    expect(await ids('how to reset the password ')).toEqual(['a']);
    expect(await ids('who ')).toEqual(['b']);
  });

  test('nothing is found for nothing', async () => {
    const { hold, ask } = use();
    await hold(entry('a', { text: 'text' }));
    for (const query of ['', '   ', '!!!', '""', '-', '🎉']) expect((await ask(query)).hits).toEqual([]);
    expect(await ask('text', { filter: everythingIn('ws-unknown') })).toMatchObject({
      hits: [],
      total: 0,
      more: false,
    });
  });

  test('pages follow each other without gap or repetition, and the total is exact', async () => {
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

  test('a least score leaves out the lesser hits', async () => {
    const { hold, ask, ids } = use();
    await hold(entry('all', { text: 'red green' }), entry('some', { text: 'red' }), entry('none', { text: 'blue' }));
    expect(await ids('red green', { minScore: 0.5 })).toEqual(['all']);
    const { hits } = await ask('red green', { minScore: 0.01 });
    expect(hits.length).toBe(2);
    expect((await ask('red green', { minScore: 1 })).total).toBe(0);
  });

  test('comments are searched where they are named, and only there', async () => {
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

  test('one field can be searched alone', async () => {
    const { hold, ids, only } = use();
    await hold(entry('n', { name: 'Apple', text: 'pear' }), entry('t', { name: 'Pear', text: 'apple' }));
    expect(await ids('apple', { fields: ['name'] })).toEqual(['n']);
    expect(await ids('apple', { fields: ['text'] })).toEqual(['t']);
    expect((await only('apple', { fields: ['text'] })).matchedIn).toEqual(['text']);
  });
}
