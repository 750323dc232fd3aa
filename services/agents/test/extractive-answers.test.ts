import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { strFromU8, unzipSync } from 'fflate';
import { selectQuotes } from '../src/models/extractive/select.js';
import { questionTerms } from '../src/models/extractive/terms.js';
import type { Passage } from '../src/models/port.js';
import { QUESTIONS } from './handbook-questions.js';

const ROOT = join(import.meta.dirname, '../../../..');
const file = join(process.env.COMMONPLACE_TEST_DATA ?? join(ROOT, '../shared/data'), 'handbook.zip');
const isThere = existsSync(file);
if (!isThere) console.log('handbook.zip is not there (COMMONPLACE_TEST_DATA): quotes from it are skipped.');

const PASSAGE_CHARS = 1500;
const PASSAGES = 12;

type Chunk = Omit<Passage, 'marker'>;

/** Cuts a page between paragraphs. */
function chunksOf(name: string, page: string): Chunk[] {
  const texts = [''];
  for (const paragraph of page.split(/\n{2,}/)) {
    const last = texts.at(-1) as string;
    if (last !== '' && last.length + paragraph.length > PASSAGE_CHARS) texts.push(paragraph);
    else texts[texts.length - 1] = `${last}\n\n${paragraph}`;
  }
  return texts.map((text) => ({ sourceId: name, name, text }));
}

/** Finds the passages for a question by BM25, as a search by words does. */
function createSearch(chunks: readonly Chunk[]): (question: string) => Passage[] {
  const all = questionTerms(QUESTIONS.map(([question]) => question).join(' '));
  const found = chunks.map(({ name, text }) => all.find(`${name} ${text}`).filter((term) => term >= 0));
  const having = new Map<number, number>();
  for (const terms of found) for (const term of new Set(terms)) having.set(term, (having.get(term) ?? 0) + 1);
  return (question) => {
    const asked = new Set(questionTerms(question).terms.map((term) => all.terms.indexOf(term)));
    const score = (terms: readonly number[]): number => {
      let sum = 0;
      for (const term of asked) {
        const frequency = terms.filter((one) => one === term).length;
        sum +=
          Math.log(1 + chunks.length / (having.get(term) ?? chunks.length)) * ((2.2 * frequency) / (frequency + 1.2));
      }
      return sum;
    };
    return chunks
      .map((chunk, i) => ({ chunk, score: score(found[i] ?? []) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, PASSAGES)
      .map(({ chunk }, i) => ({ ...chunk, marker: i + 1 }));
  };
}

(isThere ? describe : describe.skip)('quotes from the handbook', () => {
  test('answer most questions', async () => {
    const pages = Object.entries(unzipSync(readFileSync(file), { filter: ({ name }) => name.endsWith('.md') }));
    const search = createSearch(pages.flatMap(([name, bytes]) => chunksOf(name, strFromU8(bytes))));
    const missed: string[] = [];
    let reachable = 0;
    let quoted = 0;
    for (const [question, answer] of QUESTIONS) {
      const passages = search(question);
      if (passages.some(({ text }) => answer.test(text))) reachable++;
      const { quotes } = await selectQuotes(question, passages, async () => undefined);
      quoted += quotes.length;
      for (const { text, passage } of quotes)
        expect(passage.text.replace(/\s+/g, ' ')).toContain(text.replace(/\s+/g, ' '));
      if (!quotes.some(({ text }) => answer.test(text))) missed.push(question);
    }
    const answered = QUESTIONS.length - missed.length;
    const mean = (quoted / QUESTIONS.length).toFixed(1);
    console.log(
      `${answered} of ${QUESTIONS.length} questions answered by ${mean} quotes each; ${reachable} have their answer in a passage. Missed: ${missed.join(' ')}`,
    );
    expect(answered / QUESTIONS.length).toBeGreaterThan(0.6);
  });
});
