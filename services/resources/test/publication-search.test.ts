import type { Caller } from '@commonplace/kit/auth';
import { Unavailable } from '@commonplace/kit/errors';
import { contracts } from '@commonplace/platform/contracts';
import { fake } from '@commonplace/platform/testing';
import { PublicationMode } from '@commonplace/proto/resources/v1/publication.js';
import { AccessMode, type Resource, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { FindEntriesRequest } from '@commonplace/proto/search/v1/entry_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { HOST, openPublishingStage, type PublishingStage } from './publishing-stage.js';

/** More pages than are searched without the index. */
const PAGES = 2100;

let s: PublishingStage;
let boss: Caller;
let workspaceId: string;
let large: Resource;
let last: Resource;
let restricted: Resource;
let trashed: Resource;
let outside: Resource;
let plain: Resource;
/** The content of the fake index, best hit first, and how it answers. */
const index = { ids: [] as string[], complete: true, fails: false, requests: [] as FindEntriesRequest[] };

beforeAll(async () => {
  const entries = fake(contracts.entries, {
    findEntries: async (request) => {
      index.requests.push(request);
      if (index.fails) throw Unavailable();
      const end = request.offset + request.limit;
      return {
        ids: index.ids.slice(request.offset, end),
        more: end < index.ids.length,
        complete: index.complete,
      };
    },
  });
  s = await openPublishingStage([entries]);
  const org = s.tenancy.org();
  const workspace = s.tenancy.workspace(org);
  boss = s.tenancy.person('Boss');
  org.roles.set(boss.userId, OrgRole.MEMBER);
  workspace.roles.set(boss.userId, WorkspaceRole.OWNER);
  workspaceId = workspace.id;
  large = await folder('Large');
  for (let at = 0; at < PAGES; at += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, i) => doc(`Page ${at + i}`, `text of ${at + i}`, large.id)));
  }
  last = await doc('The last', 'a zebrawood at the very end', large.id);
  restricted = await doc('Restricted', 'zebrawood', large.id);
  await s.update(boss, restricted.id, { updateMask: ['access_mode'], accessMode: AccessMode.RESTRICTED });
  trashed = await doc('Trashed', 'zebrawood', large.id);
  await s.resources.deleteResource({ resourceId: trashed.id }, await s.stage.as(boss));
  outside = await doc('Outside', 'zebrawood');
  plain = await doc('Without the word', `[no link](resource:${restricted.id})`, large.id);
  await s.publish(boss, large.id);
}, 120_000);
afterAll(() => s.stage.close());
beforeEach(() => void Object.assign(index, { ids: [], complete: true, fails: false, requests: [] }));

const doc = (name: string, markdown: string, parentId?: string): Promise<Resource> =>
  s.create(boss, {
    type: ResourceType.DOCUMENT,
    name,
    content: Buffer.from(JSON.stringify(markdown)),
    ...(parentId === undefined ? { workspaceId } : { parentId }),
  });
const folder = (name: string) => s.create(boss, { type: ResourceType.FOLDER, name, workspaceId });

async function search(slug: string, query: string, limit = 0, offset = 0) {
  const address = { host: HOST, slug, proof: undefined };
  const { pages } = await s.reader.searchPublication({ address, query, limit, offset }, await s.stage.as(undefined));
  return pages;
}

const namesIn = async (slug: string, query: string) =>
  (await search(slug, query))?.items.map(({ entry }) => entry?.name);

describe('a publication with too many pages for a full search', () => {
  test('is searched by the index in its own part of the tree, and checks each page before it returns it', async () => {
    index.ids = [restricted, outside, plain, trashed, large, last].map(({ id }) => id);
    expect(await namesIn('large', 'ZEBRAwood')).toEqual(['The last']);
    expect(index.requests).toEqual([
      { workspaceId, boundaryId: workspaceId, parentId: large.id, words: ['zebrawood'], offset: 0, limit: 50 },
    ]);
    expect((await search('large', 'zebrawood'))?.items[0]?.excerpt).toContain('at the very end');
  });

  test('queries the index for more while its candidates do not match', async () => {
    const { ids } = await s.list(boss, workspaceId, { parentId: large.id });
    index.ids = [...ids.filter((id) => id !== last.id), last.id];
    expect(index.ids.length).toBeGreaterThan(100);
    expect(await namesIn('large', 'zebrawood')).toEqual(['The last']);
    expect(index.requests.map(({ offset }) => offset)).toEqual(index.ids.flatMap((_, i) => (i % 50 === 0 ? [i] : [])));
  });

  test('finds names without the index, and reports that there are more', async () => {
    const found = await search('large', 'page', 50);
    expect([found?.items.length, found?.hasMore, index.requests]).toEqual([50, true, []]);
    expect(await namesIn('large', 'page 2099')).toEqual(['Page 2099']);
  });

  test.each([
    ['does not answer', { fails: true }],
    ['is incomplete', { complete: false }],
  ])('is searched completely if the index %s', async (_, how) => {
    Object.assign(index, how, { ids: [outside.id] });
    expect(await namesIn('large', 'zebrawood')).toEqual(['The last']);
    expect(await namesIn('large', 'absent')).toEqual([]);
  });
});

describe('a small publication', () => {
  test('is searched whatever the accents, case and width, and its excerpts keep them', async () => {
    const home = await doc('Reisen', `${'Straßen nach İstanbul. '.repeat(20)}Ein Café in Zürich für Œuvres.`);
    const below = await doc('Crème brûlée', 'Süß.', home.id);
    await s.publish(boss, home.id);
    for (const query of ['cafe', 'CAFÉ', 'Zurich oeuvres', 'istanbul strassen']) {
      expect([query, await namesIn('reisen', query)]).toEqual([query, ['Reisen']]);
    }
    expect(await namesIn('reisen', 'creme suss')).toEqual([below.name]);
    expect(await namesIn('reisen', 'creme caf')).toEqual([]);
    expect((await search('reisen', 'cafe'))?.items[0]?.excerpt).toMatch(/İstanbul\. Ein Café in Zürich für Œuvres\.$/);
  });

  test('is searched directly: what was just written is found', async () => {
    const home = await doc('Guide', 'Bring **knots**, snake\\_case and a walk**ie**talkie.');
    await s.publish(boss, home.id);
    expect(await namesIn('guide', 'guide knots')).toEqual(['Guide']);
    expect(await namesIn('guide', 'snake_case walkietalkie')).toEqual(['Guide']);
    await s.write(boss, home.id, 'rewritten');
    expect(await namesIn('guide', 'knots')).toEqual([]);
    expect(await namesIn('guide', 'rewritten')).toEqual(['Guide']);
    expect(index.requests).toEqual([]);
  });

  test('is found by whole words only, whatever is next to them', async () => {
    const home = await doc('Harbour', 'The party at the weir. “Café” (closed), 東京の港 and state-of-the-art pumps.');
    await s.publish(boss, home.id);
    for (const query of ['party', 'WEIR', 'weir, cafe\u0301', '"closed"', '港', 'art', 'harbour pumps']) {
      expect([query, await namesIn('harbour', query)]).toEqual([query, ['Harbour']]);
    }
    for (const query of ['par', 'part', 'arty', 'harb', 'eir', 'pump']) {
      expect([query, await namesIn('harbour', query)]).toEqual([query, []]);
    }
  });

  test('has excerpts that are cut between words', async () => {
    const around = Array.from({ length: 60 }, (_, i) => `alongword${i}`).join(' ');
    const home = await doc('Long', `${around} the needle of it ${around}`);
    await s.publish(boss, home.id);
    const excerpt = (await search('long', 'needle'))?.items[0]?.excerpt ?? '';
    expect(excerpt).toMatch(/^…alongword\d+ .*the needle of it .*alongword\d+…$/);
    expect(excerpt.length).toBeLessThanOrEqual(200);
    const words = new Set(`${around} the needle of it`.split(' '));
    expect(
      excerpt
        .replaceAll('…', '')
        .split(' ')
        .filter((word) => !words.has(word)),
    ).toEqual([]);
  });

  test('returns its results page by page, each once', async () => {
    const home = await folder('Leaves');
    const names = Array.from({ length: 45 }, (_, i) => `Leaf ${i}`);
    for (const name of names) await doc(name, 'green in spring', home.id);
    await s.publish(boss, home.id);
    const pages = [
      await search('leaves', 'green'),
      await search('leaves', 'green', 0, 20),
      await search('leaves', 'green', 0, 40),
    ];
    expect(pages.map((page) => [page?.items.length, page?.hasMore])).toEqual([
      [20, true],
      [20, true],
      [5, false],
    ]);
    expect(new Set(pages.flatMap((page) => page?.items.map(({ entry }) => entry?.name)))).toEqual(new Set(names));
    expect((await search('leaves', 'green', 0, 60))?.items).toEqual([]);
  });

  test('that is pinned is searched as it was', async () => {
    const home = await doc('Frozen', 'pinned words');
    await s.publish(boss, home.id, { mode: PublicationMode.PINNED });
    await s.write(boss, home.id, 'a draft of other words');
    expect(await namesIn('frozen', 'draft')).toEqual([]);
    expect(await namesIn('frozen', 'pinned')).toEqual(['Frozen']);
  });

  test('is searched beyond the first five hundred rows of a table', async () => {
    const rows = Array.from({ length: 1200 }, (_, i) => ({ name: `Rope ${i}`, secret: `hidden${i}` }));
    const columns = [
      { id: 'name', name: 'Name', type: 'text' },
      { id: 'secret', name: 'Secret', type: 'text', hidden: true },
    ];
    const table = await s.create(boss, {
      type: ResourceType.TABLE,
      name: 'Ropes',
      workspaceId,
      columns: Buffer.from(JSON.stringify(columns)),
      rows: Buffer.from(JSON.stringify(rows)),
    });
    await s.publish(boss, table.id);
    expect((await search('ropes', '1199'))?.items[0]?.excerpt).toContain('Rope 1199');
    expect(await namesIn('ropes', 'hidden1199')).toEqual([]);
  });
});
