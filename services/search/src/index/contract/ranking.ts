import { Buffer } from 'node:buffer';
import { SearchGrouping, SearchMode, SearchRequest } from '@commonplace/proto/search/v1/search_service.js';
import { expect, test } from '@jest/globals';
import { readRequest } from '../../domain/request.js';
import type { RankQuery } from '../port.js';
import { rank } from '../rank/index.js';
import { chunk, entry, everythingIn, MODEL, type Use, unit, WORKSPACE } from './harness.js';

const EAST = unit(1, 0, 0, 0);
const NORTH = unit(0, 1, 0, 0);

function queryOf(
  query: string,
  parts: Partial<Pick<SearchRequest, 'mode' | 'alpha' | 'groupBy' | 'highlight' | 'minScore'>> = {},
  more: Partial<RankQuery> = {},
): RankQuery {
  const request = SearchRequest.fromPartial({ query, metadata: Buffer.alloc(0), ...parts });
  const filter = everythingIn(WORKSPACE);
  const vector = { model: MODEL.id, vector: unit(1, 0.3, 0, 0) };
  return { request: readRequest(request), filter, vector, offset: 0, limit: 10, ...more };
}

export function rankingDuties(use: Use): void {
  test('equals separate queries about words, nearness and single entries', async () => {
    const { index, hold, embed } = use();
    await hold(
      entry('both', { text: 'Red apples are sweet. Green ones are sour.' }),
      entry('words', { text: 'An apple a day, said the doctor.' }),
      entry('meaning', { text: 'Fruit from the orchard. Cider in the cellar.' }),
      entry('apple name', { text: 'Nothing else.' }),
      entry('later', { text: 'Apples and pears, not embedded yet.' }),
    );
    await embed({
      both: [chunk(EAST, 0, 21), chunk(NORTH, 22, 42)],
      words: [chunk(unit(0, 1, 1, 0), 0, 33)],
      meaning: [chunk(unit(1, 0.2, 0, 0), 0, 23), chunk(unit(1, 0.4, 0, 0), 24, 44)],
      'apple name': [chunk(unit(-1, 1, 0, 0))],
    });
    const queries = [
      queryOf('apple'),
      queryOf('apple', {}, { offset: 1, limit: 2 }),
      queryOf('apple', { groupBy: SearchGrouping.CHUNK }),
      queryOf('apple', { mode: SearchMode.SEMANTIC }),
      queryOf('apple', { highlight: false }),
      queryOf('apple', { alpha: 0 }, { vector: undefined }),
      queryOf('apple -doctor'),
      queryOf('"apples and pears"'),
      queryOf('aple', { minScore: 0.1 }),
      queryOf('-doctor'),
    ];
    for (const query of queries) {
      const answer = await index.rank(query);
      expect(answer).toEqual(JSON.parse(JSON.stringify(await rank(index, query))));
      expect(answer.places.length).toBeGreaterThan(0);
    }
    const { places } = await index.rank(queryOf('apple'));
    expect(places.find(({ id }) => id === 'both')).toMatchObject({
      byMeaning: true,
      hit: { matchedIn: ['text'] },
      chunk: { start: 0, end: 21, text: 'Red apples are sweet.' },
    });
    const later = places.find(({ id }) => id === 'later');
    expect(later).toMatchObject({ byMeaning: false, hit: { matchedIn: ['text'] } });
    expect(later?.chunk).toBeUndefined();
  });

  test('shows the beginning of a passage with very much white space', async () => {
    const { index, hold, embed } = use();
    const text = `apple ${' '.repeat(31_993)}🍏${' '.repeat(100_000)}cider`;
    await hold(entry('gap', { text }));
    await embed({ gap: [chunk(EAST, 0, text.length)] });
    for (const mode of [SearchMode.HYBRID, SearchMode.SEMANTIC]) {
      const [found] = (await index.rank(queryOf('apple', { mode }))).places;
      expect(found?.chunk).toEqual({ start: 0, end: 31_999, text: text.slice(0, 31_999) });
    }
  });
}
