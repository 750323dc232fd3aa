import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { analyse } from '@commonplace/kit/analysis';
import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { afterAll, describe, expect, test } from '@jest/globals';
import { parseQuery } from '../src/domain/query.js';
import { NAME_TIMES, scoreOf } from '../src/domain/score.js';
import { entry, everythingIn } from '../src/index/contract/harness.js';
import { type Engine, openEngine } from '../src/index/sqlite/engine.js';

const folder = mkdtempSync(join(tmpdir(), 'search-weights-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const WORDS = ['apple', 'banana', 'cherry', 'fig', 'grape', 'lemon'];

function termsOf(text: string): string[] {
  const { terms } = analyse(text);
  return terms === '' ? [] : terms.split(' ');
}

/** Returns the BM25 score of one term in one of the entries, by the formula. */
function bm25(term: string, among: readonly IndexEntry[], one: IndexEntry): number {
  const lengthOf = ({ name, text }: IndexEntry) => NAME_TIMES * termsOf(name).length + termsOf(text).length;
  const timesIn = (text: string) => termsOf(text).filter((each) => each === term).length;
  const frequencyIn = ({ name, text }: IndexEntry) => NAME_TIMES * timesIn(name) + timesIn(text);
  const having = among.filter((each) => frequencyIn(each) > 0).length;
  const mean = among.reduce((sum, each) => sum + lengthOf(each), 0) / among.length;
  const frequency = frequencyIn(one);
  const damping = 1.2 * (0.25 + (0.75 * lengthOf(one)) / mean);
  return (Math.log(1 + (among.length - having + 0.5) / (having + 0.5)) * frequency * 2.2) / (frequency + damping);
}

/** Creates entries in a workspace that differ by their number. */
function entriesOf(workspaceId: string, tenant: string, count: number, times: number): IndexEntry[] {
  return Array.from({ length: count }, (_, i) => {
    const words = Array.from({ length: 1 + ((i * 7) % 11) * times }, (_, k) => WORDS[(i * k + k) % WORDS.length]);
    const name = i % 3 === 0 ? `${WORDS[i % WORDS.length]} ${i}` : `Number ${i}`;
    return entry(`${workspaceId}-${i}`, { tenant, workspaceId, boundaryId: workspaceId, name, text: words.join(' ') });
  });
}

function scores(engine: Engine, query: string, workspaceIds: readonly string[]): Map<string, number> {
  const ask = { plan: parseQuery(query), filter: everythingIn(...workspaceIds), narrowing: {}, offset: 0, limit: 100 };
  return new Map(engine.search({ ...ask, highlight: false }).hits.map(({ id, score }) => [id, score]));
}

describe('weights of words', () => {
  const engine = openEngine(join(folder, 'weights.db'));
  afterAll(() => engine.close());
  const held = new Map<string, IndexEntry>();
  const put = (entries: readonly IndexEntry[]) => {
    engine.change(entries.map((upsert) => ({ upsert })));
    for (const each of entries) held.set(each.id, each);
  };
  const expectFormula = (workspaceIds: readonly string[]) => {
    const among = [...held.values()].filter(({ workspaceId }) => workspaceIds.includes(workspaceId));
    for (const word of WORDS) {
      const found = scores(engine, `${word} `, workspaceIds);
      const having = among.filter(({ name, text }) => termsOf(`${name} ${text}`).includes(termsOf(word)[0] as string));
      expect([word, [...found.keys()].sort()]).toEqual([word, having.map(({ id }) => id).sort()]);
      for (const each of having) {
        expect(found.get(each.id)).toBeCloseTo(scoreOf(bm25(termsOf(word)[0] as string, among, each), true), 4);
      }
    }
  };

  test('are BM25 over the searched workspaces only', () => {
    put(entriesOf('one', 'org', 30, 1));
    expectFormula(['one']);
    put(entriesOf('two', 'org', 60, 9));
    put(entriesOf('three', 'another', 40, 5));
    for (const ids of [['one'], ['two'], ['three'], ['one', 'two']]) expectFormula(ids);
  });

  test('of a phrase are those of its rarest word in the row', () => {
    const inPlace = (id: string, text: string) =>
      entry(id, { tenant: 'phrases', workspaceId: 'five', boundaryId: 'five', name: `${id} x`, text });
    put([
      inPlace('often', 'kiwi-plum and kiwi-plum with kiwi-plum'),
      inPlace('once', 'kiwi-plum kiwi and then further words'),
      inPlace('apart', 'plum before kiwi and then further words'),
    ]);
    const found = scores(engine, 'kiwi-plum ', ['five']);
    expect([...found.keys()]).toEqual(['often', 'once']);
    const among = [...held.values()].filter(({ workspaceId }) => workspaceId === 'five');
    // The formula for a word, as if the phrase were one: the row without the phrase keeps its length only.
    const plums = among.map((each) => ({ ...each, text: each.id === 'apart' ? 'x '.repeat(7) : each.text }));
    for (const each of plums.filter(({ id }) => id !== 'apart')) {
      expect(found.get(each.id)).toBeCloseTo(scoreOf(bm25('plum', plums, each), true), 3);
    }
  });

  test('follow changes, moves and removals', () => {
    const [first, second, third, ...rest] = entriesOf('two', 'org', 60, 9) as [IndexEntry, IndexEntry, IndexEntry];
    put([
      { ...first, version: 2, name: 'lemon lemon', text: 'fig' },
      { ...second, version: 2, workspaceId: 'one', boundaryId: 'one' },
      { ...third, version: 2, tenant: 'another', workspaceId: 'three', boundaryId: 'three' },
    ]);
    const gone = rest.slice(0, 30).map(({ id }) => id);
    engine.change(gone.map((remove) => ({ remove })));
    for (const id of gone) held.delete(id);
    for (const ids of [['one'], ['two'], ['three'], ['one', 'two']]) expectFormula(ids);
  });

  test('are the same in a reopened index', () => {
    const path = join(folder, 'again.db');
    const before = openEngine(path);
    before.change(entriesOf('one', 'org', 30, 1).map((upsert) => ({ upsert })));
    const told = scores(before, 'grape ', ['one']);
    before.close();
    const after = openEngine(path);
    expect(scores(after, 'grape ', ['one'])).toEqual(told);
    expect(told.size).toBeGreaterThan(5);
    after.close();
  });
});
