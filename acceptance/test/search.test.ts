import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import type { NewFile } from '../src/files.js';
import { pdfOf } from '../src/pdf.js';
import { signUp } from '../src/people.js';
import type { Resource, SearchAnswer, Workspace } from '../src/records.js';
import { type StandingSystem, standingSystem } from '../src/standing.js';

const MODES = ['keyword', 'semantic', 'hybrid'] as const;
/** Searches by meaning find a page once the model is loaded. */
const EMBEDDED_MS = 60_000;

const PAGES: Readonly<Record<string, string>> = {
  chinese: '深度学习模型需要大量训练数据',
  japanese: '東京都庁は西新宿にあります',
  korean: '검색을 하면 결과가 나옵니다',
  thai: 'การค้นหาข้อความภาษาไทย',
  accents: 'Crème brûlée in a naïve façade of Łódź',
  phrase: 'The code review of May was short.',
  apart: 'A review of the penal code.',
  leave: '# Time off\n\nEverybody may take thirty days of vacation each year, and is paid for them.',
  car: '# Parking\n\nAutomobiles are left in the basement.',
};

let system: StandingSystem;
let by: Api;
let workspace: Workspace;
const ids = new Map<string, string>();

beforeAll(async () => {
  system = await standingSystem('meaning');
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Languages' })).data;
  for (const [name, content] of Object.entries(PAGES)) {
    const body = { type: 'document', name, content, workspace_id: workspace.id };
    ids.set(name, (await by.post<Resource>('/resources', body)).data.id);
  }
});
afterAll(() => system?.stop());

async function search(query: string, more: object = {}) {
  return by.post<SearchAnswer>('/search', { query, workspace_ids: [workspace.id], ...more });
}

/** Names of what is found. */
async function find(query: string, more: object = {}): Promise<string[]> {
  const { data } = await search(query, { mode: 'keyword', ...more });
  return data.items.map(({ resource }) => resource.name);
}

describe('a search by words', () => {
  const EXPECTED: readonly (readonly [string, string])[] = [
    ...['训练', '训练数据', '度', '据', '訓練', '"大量训练"'].map((query) => [query, 'chinese'] as const),
    ...['東京', '都庁', '庁', '新宿'].map((query) => [query, 'japanese'] as const),
    ...['검색', '검색을', '결과'].map((query) => [query, 'korean'] as const),
    ...['ค้นหา', 'ภาษา'].map((query) => [query, 'thai'] as const),
    ...['creme brulee', 'NAIVE', 'lodz', 'cre\u0300me'].map((query) => [query, 'accents'] as const),
    ['"code review"', 'phrase'],
    ['review -penal', 'phrase'],
    ['review -"code review"', 'apart'],
  ];

  test('finds any part of text without spaces, folds accents, and supports phrases and exclusions', async () => {
    await eventually(async () => expect(await find('automobiles')).toEqual(['car']));
    for (const [query, name] of EXPECTED) expect([query, await find(query)]).toEqual([query, [name]]);
  });
});

describe('the block that contains a match', () => {
  interface Block {
    readonly id?: string;
    readonly type: string;
    readonly text?: string;
    readonly content?: readonly Block[];
  }

  const textOf = ({ text = '', content = [] }: Block): string => text + content.map(textOf).join('');
  const within = (block: Block): Block[] => [block, ...(block.content ?? []).flatMap(within)];

  async function blockOf(resourceId: string, blockId: unknown): Promise<[string, string] | undefined> {
    const { data } = await by.get(`/resources/${resourceId}/content?format=json`);
    const block = within(data.content as Block).find(({ id }) => id === blockId);
    return block && [block.type, textOf(block)];
  }

  const PLAN = [
    '# The zeppelin',
    `${'It is long. '.repeat(40)}`,
    '- rudder and *gondola* first',
    '- then the rest',
    '> Whoever flies it needs a licence for dirigibles.',
  ].join('\n\n');

  async function highlightOf(query: string, more: object = {}) {
    const { data } = await search(query, { mode: 'keyword', ...more });
    return data.items[0]?.highlights.find(({ field }) => field !== 'name');
  }

  test.each([
    ['markdown', { content: PLAN }],
    ['json', { format: 'json' }],
    ['html', { format: 'html' }],
  ])('is one of its JSON, and stays so if something else is changed: %s', async (name, written) => {
    const word = `unique${name}`;
    const body = {
      type: 'document',
      name: `Flight ${name}`,
      content: `${PLAN}\n\nThe last ${word} words.`,
      workspace_id: workspace.id,
    };
    const { id } = (await by.post<Resource>('/resources', body)).data;
    const path = `/resources/${id}/content`;
    if ('format' in written) {
      const { data } = await by.get(`${path}?format=${written.format}`);
      await by.patch(path, { content: data.content, format: written.format === 'html' ? 'html' : undefined });
    }
    const first = await eventually(async () => {
      const found = await highlightOf(`"last ${word}"`);
      // The block is omitted if the owner of the contents takes too long to answer, as it may at the first request.
      expect(found?.block_id).toEqual(expect.any(String));
      return found;
    });
    expect(await blockOf(id, first?.block_id)).toEqual(['paragraph', `The last ${word} words.`]);
    const inList = await highlightOf(`gondola "last ${word}"`, { parent_id: undefined });
    expect(await blockOf(id, inList?.block_id)).toEqual(['paragraph', 'rudder and gondola first']);
    await by.patch(path, { mode: 'prepend', content: `A new ${word} beginning of zebras.\n\n` });
    await eventually(async () => expect((await find(`zebras ${word}`))[0]).toBe(`Flight ${name}`));
    const later = await highlightOf(`"last ${word}"`);
    expect(later?.block_id).toBe(first?.block_id);
    expect(await blockOf(id, later?.block_id)).toEqual(['paragraph', `The last ${word} words.`]);
  });

  test('is reported for passages, and for the row of a table', async () => {
    const table = {
      type: 'table',
      name: 'Crew',
      columns: [{ name: 'Who' }, { name: 'Does' }],
      workspace_id: workspace.id,
    };
    const rows = ['pilot', 'navigatrix', 'cook'].map((does, i) => ({
      id: `row-${i}`,
      cells: { Who: `Nr ${i}`, Does: does },
    }));
    await by.post('/resources', { ...table, content: { columns: table.columns, rows }, columns: undefined });
    await eventually(async () => {
      const found = await highlightOf('navigatrix');
      expect(found).toMatchObject({ field: 'rows', row_id: 'row-1', block_id: null });
    });
    await eventually(async () => {
      const { data } = await search('airship', { mode: 'semantic', group_by: 'chunk', types: ['document'] });
      const [item] = data.items.filter(({ resource }) => resource.name.startsWith('Flight'));
      expect(item?.chunk).toBeDefined();
      const [type, text] = (await blockOf(item?.resource.id ?? '', item?.chunk?.block_id)) ?? [];
      expect(type).toMatch(/heading|paragraph/);
      expect(item?.chunk?.text.replace(/^[#>\s-]+/, '').startsWith((text ?? '-').slice(0, 8))).toBe(true);
    }, EMBEDDED_MS);
  });
});

test('a match in a file has its page, and the text has no marker of it', async () => {
  const logged = [
    ['Logbook of the heliostat', 'Mirrors were polished.'],
    [],
    ['Calibration of the sextant', 'took all of the afternoon, and ends with the last'],
    ['quintant of the voyage', 'Nobody was hurt.'],
  ];
  const bytes = pdfOf(logged).toString('base64');
  const file = { name: 'logbook.pdf', workspace_id: workspace.id, content_base64: bytes };
  const { id } = (await by.post<NewFile>('/files', file)).data.resource;
  const other = { ...file, name: 'log.txt', content_base64: Buffer.from('A zenith telescope').toString('base64') };
  await by.post('/files', other);
  const highlight = async (query: string) => {
    const { data } = await search(query, { mode: 'keyword', types: ['file'], in: ['files'] });
    return data.items[0]?.highlights[0];
  };
  await eventually(
    async () => expect(await highlight('heliostat')).toMatchObject({ field: 'files', page: 1 }),
    EMBEDDED_MS,
  );
  const third = { snippet: expect.stringContaining('sextant took all'), page: 3, block_id: null, row_id: null };
  expect(await highlight('sextant')).toMatchObject(third);
  expect(await highlight('quintant hurt')).toMatchObject({ page: 4 });
  // Words that a page break separates are adjacent.
  expect(await highlight('"last quintant of"')).toMatchObject({ page: 3 });
  await eventually(async () => expect(await highlight('zenith')).toMatchObject({ page: null }), EMBEDDED_MS);
  const { data: read } = await by.get<{ readonly text: string }>(`/resources/${id}/content`);
  expect(read.text).toBe(
    logged
      .map((lines) => lines.join('\n'))
      .filter(Boolean)
      .join('\n\n'),
  );
  await eventually(async () => {
    const { data } = await search('logbook', { mode: 'semantic', types: ['file'], group_by: 'chunk' });
    const found = data.items.find(({ resource }) => resource.id === id);
    expect(found?.chunk).toMatchObject({ page: 1, block_id: null });
  }, EMBEDDED_MS);
}, 200_000);

describe('a search in comments', () => {
  test('finds text of comments about a document, until they are deleted', async () => {
    const path = `/resources/${ids.get('leave')}/comments`;
    const { data: comment } = await by.post(path, { body: 'Does **parental** leave count? 育児休業' });
    const inComments = { in: ['comments'] };
    for (const query of ['parental', 'parent', '休業']) {
      await eventually(async () => expect([query, await find(query, inComments)]).toEqual([query, ['leave']]));
    }
    expect(await find('parental')).toEqual([]);
    expect(await find('vacation', inComments)).toEqual([]);
    const { data, body } = await search('parental', { mode: 'keyword', in: ['content', 'comments'] });
    expect(body.warnings).toBeUndefined();
    expect(data.items[0]).toMatchObject({
      matched_in: ['comments'],
      highlights: [{ field: 'comments', snippet: 'Does parental leave count? 育児休業', ranges: [[5, 13]] }],
    });
    await by.patch(`${path}/${comment.id}`, { status: 'resolved' });
    expect(await find('parental', inComments)).toEqual(['leave']);
    await by.del(`${path}/${comment.id}`);
    await eventually(async () => expect(await find('parental', inComments)).toEqual([]));
  });

  test('a cursor is refused, because searches return none', async () => {
    expect((await search('vacation', { cursor: 'abc' })).error.code).toBe('invalid_pagination');
  });
});

describe('a search in any mode', () => {
  const ODD = [
    ...['"', '"unclosed', '-', '- -', '*', '(', 'a AND', 'NEAR(', "' OR 1=1", 'type:', ':', '\\', '%', '{}', 'a*b'],
    ...['🎉', '\u202eword', '\ufeff', '\u0000', 'a\u0000b', '\ud800', '<script>alert(1)</script>', '#{7*7}', '{{7*7}}'],
    ...[
      '"a '.repeat(300),
      '-a '.repeat(300),
      '训'.repeat(1000),
      '('.repeat(1000),
      'tag:'.repeat(250),
      '🎉'.repeat(1000),
    ],
  ];

  test.each(MODES)('%s: any input is answered or refused with a message', async (mode) => {
    for (const query of ODD) {
      const answer = await search(query, { mode, facets: ['type', 'tag'], group_by: 'chunk' });
      expect([query, [200, 400].includes(answer.status)]).toEqual([query, true]);
      if (answer.status === 200) expect(Array.isArray(answer.data.items)).toBe(true);
      else expect(typeof answer.error.code).toBe('string');
    }
  });

  test.each(MODES)('%s: reports the mode that has answered', async (mode) => {
    const { status, data, body } = await search('vacation', { mode });
    expect(status).toBe(200);
    if (data.degraded) {
      expect(data.mode).toBe('keyword');
      expect(body.warnings?.map(({ code }: { code: string }) => code)).toContain('embeddings_unavailable');
    } else expect(data.mode).toBe(mode);
    expect(data.items[0]?.resource.id).toBe(ids.get('leave'));
  });

  test('lists have at most 50 items', async () => {
    for (const [param, item] of Object.entries({ types: 'document', in: 'name', facets: 'type' })) {
      expect((await search('x', { [param]: Array(50).fill(item) })).status).toBe(200);
      const { status, error } = await search('x', { [param]: Array(51).fill(item) });
      expect([status, error.code, error.param]).toEqual([400, 'too_many_items', param]);
    }
  });

  test('numbers and choices out of range are refused', async () => {
    for (const more of [{ alpha: 1.1 }, { alpha: -0.1 }, { min_score: 2 }, { mode: 'magic' }, { group_by: 'page' }]) {
      const { status, error } = await search('vacation', more);
      expect([more, status, typeof error.code]).toEqual([more, 400, 'string']);
    }
    expect((await search('vacation', { alpha: 0, min_score: 0 })).status).toBe(200);
  });
});

describe('a search by meaning', () => {
  test('finds other words for the same thing, with the passage', async () => {
    await eventually(async () => {
      const { data } = await search('how much holiday do employees get', { mode: 'semantic', limit: 3 });
      expect([data.mode, data.degraded, data.items[0]?.resource.name]).toEqual(['semantic', false, 'leave']);
      expect(data.items[0]?.chunk?.text).toContain('thirty days');
      expect(data.items[0]?.scores.semantic).toBeGreaterThan(0);
      expect(data.items[0]?.highlights[0]?.snippet).toContain('vacation');
    }, EMBEDDED_MS);
  });

  test('combines results with those by words', async () => {
    const { data } = await search('vacation', { limit: 2 });
    expect(data).toMatchObject({ mode: 'hybrid', degraded: false });
    expect(data.items[0]?.resource.name).toBe('leave');
    expect(data.items[0]?.score).toBeGreaterThan(0.9);
    expect(data.items[0]?.scores).toEqual({ keyword: expect.any(Number), semantic: expect.any(Number) });
    const { data: words } = await search('vacation', { alpha: 0 });
    expect(words.items.map(({ resource }) => resource.name)).toEqual(['leave']);
  });

  test('finds what was just written, and no longer what was there before', async () => {
    const id = ids.get('car') ?? '';
    await by.patch(`/resources/${id}/content`, { content: '# Pets\n\nPuppies and kittens are welcome at the office.' });
    await eventually(async () => {
      const { data } = await search('may I bring my dog to work', { mode: 'semantic', limit: 1 });
      expect(data.items[0]?.chunk?.text).toContain('Puppies');
    }, EMBEDDED_MS);
    await by.del(`/resources/${id}`);
    const { data } = await search('may I bring my dog to work', { mode: 'semantic' });
    expect(data.items.map(({ resource }) => resource.id)).not.toContain(id);
  });
});

test.each(['keyword', 'hybrid'])(
  'a %s search shows no name of a referenced item that its reader may not read',
  async (mode) => {
    const [writer, reader] = [await signUp(system, 'Writer'), await signUp(system, 'Reader')];
    const { id } = (await writer.post<Workspace>('/workspaces', { name: 'Shared' })).data;
    await writer.post(`/workspaces/${id}/members`, { user_id: reader.user.id, role: 'viewer' });
    const made = async (body: object) =>
      (await writer.post<Resource>('/resources', { type: 'document', workspace_id: id, ...body })).data.id;
    const secret = await made({ name: 'Quetzalcoatl', access_mode: 'restricted', content: 'x' });
    const content = `We discussed [Quetzalcoatl](resource:${secret}) at lunch.`;
    await made({ name: 'Notes', content });
    const search = async (who: Api, query: string) =>
      (await who.post<SearchAnswer>('/search', { query, mode, workspace_ids: [id] })).text;
    await eventually(async () => expect(await search(writer, 'lunch')).toContain('discussed Quetzalcoatl at'));
    for (const query of ['lunch', 'quetzalcoatl']) {
      const found = await search(reader, query);
      expect(found).toContain('Notes');
      expect(found).not.toContain('Quetzalcoatl');
    }
    expect(await search(reader, 'lunch')).toContain('No access');
  },
);
