import { expect, test } from '@jest/globals';
import { entry, marked, type Use } from './harness.js';

export function highlightDuties(use: Use): void {
  test('return ranges in code points of the snippet, in name and text', async () => {
    const { hold, only } = use();
    await hold(entry('a', { name: '🎉 Party planning', text: '🎈🎈 We plan\n\n the *party* 🎉 now: parties!' }));
    const { snippets, matchedIn } = await only('party');
    expect(matchedIn).toEqual(['name', 'text']);
    expect(snippets.name?.text).toBe('🎉 Party planning');
    expect(snippets.name?.ranges).toEqual([[2, 7]]);
    expect(snippets.text?.text).toBe('🎈🎈 We plan the party 🎉 now: parties!');
    expect(marked(snippets.text)).toEqual(['party', 'parties']);
  });

  test('show the place of a long text where the terms are close together', async () => {
    const { hold, only } = use();
    const filler = 'lorem ipsum dolor sit amet '.repeat(80);
    await hold(entry('a', { text: `alpha ${filler} alpha beta in one place ${filler} beta` }));
    const { snippets } = await only('alpha beta');
    const text = snippets.text?.text ?? '';
    expect([...text].length).toBeLessThanOrEqual(250);
    expect(text.startsWith('…') && text.endsWith('…')).toBe(true);
    expect(marked(snippets.text)).toEqual(['alpha', 'beta']);
  });

  test('show the beginning of a word that is longer than a snippet', async () => {
    const { hold, only } = use();
    await hold(entry('a', { text: `a letter ${'𝐳'.repeat(50_000)} and more` }));
    const text = (await only('zzzzzzzz')).snippets.text;
    expect(text?.text).toMatch(/^a letter 𝐳{90,}…$/u);
    expect(text?.text.length).toBeLessThanOrEqual(250);
    expect(marked(text)).toEqual([expect.stringMatching(/^𝐳{90,}$/u)]);
  });

  test('mark prefixes, typos, phrases and single characters as they match', async () => {
    const { hold, only } = use();
    await hold(entry('a', { text: 'Kubernetes: code review of 训练数据, O’Brien' }));
    expect(marked((await only('kub')).snippets.text)).toEqual(['Kubernetes']);
    expect(marked((await only('kubernets')).snippets.text)).toEqual(['Kubernetes']);
    expect(marked((await only('"code review"')).snippets.text)).toEqual(['code review']);
    expect(marked((await only('练')).snippets.text)).toEqual(['练']);
    expect(marked((await only('练数')).snippets.text)).toEqual(['练数']);
    expect(marked((await only('obrien')).snippets.text)).toEqual(['O’Brien']);
  });

  test('return ranges of the original when folding changes lengths', async () => {
    const { hold, only } = use();
    await hold(entry('a', { text: 'ﬁrst ﬂoor, Cafe\u0301 Müller, ｶﾞｲﾄﾞ 𝐛𝐨𝐥𝐝 end' }));
    expect(marked((await only('cafe')).snippets.text)).toEqual(['Cafe\u0301']);
    expect(marked((await only('floor')).snippets.text)).toEqual(['ﬂoor']);
    expect(marked((await only('ガイド')).snippets.text)).toEqual(['ｶﾞｲﾄﾞ']);
    expect(marked((await only('bold')).snippets.text)).toEqual(['𝐛𝐨𝐥𝐝']);
    expect(marked((await only('end')).snippets.text)).toEqual(['end']);
  });

  test('return the place of the first range of a snippet in the text', async () => {
    const { hold, only } = use();
    const filler = 'lorem ipsum dolor sit amet '.repeat(80);
    const text = `# 🎉 Title\n\n${filler}\n\n  🎈 The budget of\nthe party. ${filler}`;
    await hold(entry('a', { name: 'Budget', text }));
    const { name, text: snippet } = (await only('budget party')).snippets;
    expect(name?.place).toEqual({ offset: 0, text: 'Budget' });
    expect(snippet?.place.offset).toBe(text.indexOf('budget'));
    expect(text.startsWith(snippet?.place.text ?? '-', snippet?.place.offset)).toBe(true);
    expect(snippet?.place.text).toMatch(/^budget of\nthe party/);
  });

  test('leave out snippets when they are not requested', async () => {
    const { hold, only } = use();
    await hold(entry('a', { text: 'word' }));
    expect(await only('word', { highlight: false })).toMatchObject({ matchedIn: ['text'], snippets: {} });
  });
}
