import type { Caller } from '@commonplace/kit/auth';
import {
  ContentFormat,
  GetContentRequest,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { NO_INPUT } from '../src/content/input.js';
import { derivation } from '../src/documents/kind/derivation.js';
import { MAX_BYTES_AT_ONCE, openDeriver } from '../src/documents/kind/deriver.js';
import { openWorld, type World } from './stage.js';

let world: World;
let editor: Caller;
beforeAll(async () => {
  world = await openWorld();
  editor = world.member(WorkspaceRole.EDITOR);
});
afterAll(() => world.stage.close());

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const PARAGRAPH = 'Some *words* of a [long](https://example.com) page, with `code` and **more** of it.\n\n';
const LONG = PARAGRAPH.repeat(3000);

async function read(id: string, format: ContentFormat): Promise<string> {
  const request = GetContentRequest.fromPartial({ resourceId: id, format });
  return (await world.content.getContent(request, await world.stage.as(editor))).content.toString();
}

test('answers other calls while a long document is read and written', async () => {
  const create = (text: string) => world.create(editor, { type: ResourceType.DOCUMENT, content: json(text) });
  const [long, short] = [await create(LONG), await create('short')];
  const done: string[] = [];
  const note = (name: string) => () => done.push(name);
  const html = read(long.id, ContentFormat.HTML).then(note('long'));
  for (let at = 0; at < 5; at++) await read(short.id, ContentFormat.HTML).then(note('short'));
  await html;
  expect(done).toEqual(['short', 'short', 'short', 'short', 'short', 'long']);

  done.length = 0;
  const request = ReplaceContentRequest.fromPartial({
    resourceId: long.id,
    html: `<p>x</p>${'<p>words</p>'.repeat(3000)}`,
  });
  const write = world.content.replaceContent(request, await world.stage.as(editor)).then(note('long'));
  for (let at = 0; at < 5; at++) await read(short.id, ContentFormat.HTML).then(note('short'));
  await write;
  expect(done).toEqual(['short', 'short', 'short', 'short', 'short', 'long']);
});

test('a worker thread returns and throws the same as the calling thread', async () => {
  const deriver = openDeriver({ documentThreads: 2, documentSeconds: 60, documentsWaiting: 100 });
  const body = { format: 'markdown', text: `# T\n\nresource:a ${'é'.repeat(10)}` } as const;
  const large = MAX_BYTES_AT_ONCE + 1;
  const limits = { documentBytes: 1000, documentJsonBytes: 1000 };
  try {
    for (const format of ['markdown', 'json', 'html', 'text'] as const) {
      const payload = await deriver.run('org', large, 'payload', body, format, []);
      expect(payload).toEqual(derivation.payload(body, format, []));
      expect(payload.content).toBeInstanceOf(Buffer);
    }
    const anchors = [{ quote: 'resource' }, { quote: 'nowhere' }];
    expect(await deriver.run('org', large, 'anchors', body, anchors)).toEqual(derivation.anchors(body, anchors));
    expect(await deriver.run('org', large, 'hiddenWords', body, new Set(['a']))).toEqual([]);
    const input = { ...NO_INPUT, content: json('é') };
    expect(await deriver.run('org', large, 'create', input, limits)).toEqual(derivation.create(input, limits));
    const faulty = { ...NO_INPUT, document: json({ type: 'doc', content: [{}] }) };
    await expect(deriver.run('org', large, 'create', faulty, limits)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'missing_field',
      param: 'document.content[0].type',
    });
    const unreadable = { ...NO_INPUT, content: Buffer.from('{') };
    await expect(deriver.run('org', large, 'create', unreadable, limits)).rejects.toThrow(/JSON/);
  } finally {
    await deriver.close();
  }
});

test('returns about as many entries as the index has room for', async () => {
  const text = PARAGRAPH.repeat(50);
  const ids: string[] = [];
  for (let at = 0; at < 5; at++) {
    ids.push((await world.create(editor, { type: ResourceType.DOCUMENT, content: json(text) })).id);
  }
  const ask = async (mostBytes: number) => {
    const requested = [...ids, '00000000-0000-7000-8000-000000000000'];
    const { entries, leftIds } = await world.index.getIndexEntries(
      { ids: requested, mostBytes },
      await world.stage.as(undefined),
    );
    return { given: entries.map(({ id }) => id), left: leftIds };
  };
  expect(await ask(0)).toEqual({ given: ids, left: [] });
  expect(await ask(2.5 * text.length)).toEqual({ given: ids.slice(0, 2), left: ids.slice(2) });
  expect(await ask(1)).toEqual({ given: ids.slice(0, 1), left: ids.slice(1) });
  expect(await ask(100 * text.length)).toEqual({ given: ids, left: [] });
});

test('streams all entries in messages of limited size', async () => {
  const text = 'word '.repeat(200_000);
  for (let at = 0; at < 5; at++) await world.create(editor, { type: ResourceType.DOCUMENT, content: json(text) });
  const sizes: number[] = [];
  const seen = new Set<string>();
  for await (const { entries, leftIds } of world.index.streamIndexEntries(
    { batchSize: 200 },
    await world.stage.as(undefined),
  )) {
    expect(leftIds).toEqual([]);
    sizes.push(entries.reduce((sum, entry) => sum + entry.text.length, 0));
    for (const { id } of entries) seen.add(id);
  }
  expect(sizes.length).toBeGreaterThan(2);
  expect(Math.max(...sizes)).toBeLessThan(3_000_000);
  const { counts } = await world.index.countResources(
    { workspaceIds: [world.workspaceId], readableIds: [] },
    await world.stage.as(undefined),
  );
  expect(seen.size).toBe(counts[world.workspaceId]);
});

test('a large document that was read before is returned as last written', async () => {
  const markdown = ContentFormat.MARKDOWN;
  const large = LONG.repeat(2);
  const { id } = await world.create(editor, { type: ResourceType.DOCUMENT, content: json(large) });
  for (let at = 0; at < 2; at++) expect(JSON.parse(await read(id, markdown))).toBe(large);
  for (const text of [`${large}once`, `${large}twice`]) {
    const request = ReplaceContentRequest.fromPartial({ resourceId: id, markdown: text });
    await world.content.replaceContent(request, await world.stage.as(editor));
    for (let at = 0; at < 2; at++) expect(JSON.parse(await read(id, markdown))).toBe(text);
  }
});
