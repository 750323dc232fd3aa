import type { Caller } from '@commonplace/kit/auth';
import type { Reply } from '@commonplace/kit/rpc';
import { eventually } from '@commonplace/kit/testing';
import {
  ArtifactType,
  type Content,
  ContentMode,
  GetContentRequest,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  GetSnapshotRequest,
  ListSnapshotsRequest,
  type Snapshot,
  SnapshotReason,
} from '@commonplace/proto/resources/v1/snapshot_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

let world: World;
let editor: Caller;
let admin: Caller;
beforeAll(async () => {
  world = await openWorld();
  editor = world.member(WorkspaceRole.EDITOR);
  admin = world.member(WorkspaceRole.ADMIN);
});
afterAll(() => world.stage.close());

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const document = (content: string) => world.create(editor, { type: ResourceType.DOCUMENT, content: json(content) });
const page = { limit: 200, offset: 0, cursor: '' };

async function send(
  id: string,
  fields: Partial<ReplaceContentRequest>,
  by = editor,
  baseVersion?: number,
): Promise<Content> {
  const request = ReplaceContentRequest.fromPartial({ resourceId: id, ...fields } as never);
  const metadata = baseVersion === undefined ? {} : { baseVersion };
  return world.content.replaceContent(request, await world.stage.as(by, metadata));
}

const write = (id: string, text: string, by = editor, baseVersion?: number) =>
  send(id, { content: json(text) }, by, baseVersion);

async function list(id: string, reason = SnapshotReason.UNSPECIFIED): Promise<Snapshot[]> {
  const request = ListSnapshotsRequest.fromPartial({ resourceId: id, page, reason });
  return (await world.snapshots.listSnapshots(request, await world.stage.as(editor))).items;
}

async function take(id: string, name?: string, reply: Reply = {}): Promise<Snapshot> {
  const request = { resourceId: id, name, description: undefined };
  return world.snapshots.createSnapshot(request, await world.stage.as(editor, {}, reply));
}

async function get(id: string, snapshotId: string, diffTo = '') {
  const request = GetSnapshotRequest.fromPartial({ resourceId: id, snapshotId, diffTo, page });
  return world.snapshots.getSnapshot(request, await world.stage.as(editor));
}

async function remove(id: string, snapshotId: string, by: Caller) {
  return world.snapshots.deleteSnapshot({ resourceId: id, snapshotId }, await world.stage.as(by));
}

async function read(id: string, fields: Partial<GetContentRequest> = {}): Promise<Content> {
  const request = GetContentRequest.fromPartial({ resourceId: id, ...fields } as never);
  return world.content.getContent(request, await world.stage.as(editor));
}

const textOf = ({ content }: Pick<Content, 'content'>) => JSON.parse(content.toString());

describe('automatic snapshots', () => {
  test('keep what each write without a precondition replaces', async () => {
    const { id } = await document('one');
    const first = await write(id, 'two');
    const second = await write(id, 'three');
    expect(first.snapshotId).not.toBe(second.snapshotId);
    const kept = await list(id);
    expect(kept.map(({ contentVersion, reason }) => [contentVersion, reason])).toEqual([
      [2, SnapshotReason.BEFORE_REPLACE],
      [1, SnapshotReason.BEFORE_REPLACE],
    ]);
    expect(textOf(await get(id, first.snapshotId as string))).toBe('one');
    expect(kept.every(({ expiresAt }) => expiresAt !== undefined)).toBe(true);
  });

  test('keep one’s own rewrites with a matching base once in five minutes', async () => {
    const { id } = await document('one');
    const first = await write(id, 'two', editor, 1);
    expect(first.snapshotId).toBeDefined();
    expect((await write(id, 'three', editor, 2)).snapshotId).toBeUndefined();
    expect((await list(id)).map(({ reason }) => reason)).toEqual([SnapshotReason.AUTO]);
  });

  test('keep what another credential has written, whatever the base', async () => {
    const { id } = await document('one');
    await write(id, 'two', editor, 1);
    expect((await write(id, 'three', admin, 2)).snapshotId).toBeDefined();
    expect((await write(id, 'four', admin, 3)).snapshotId).toBeUndefined();
    expect((await write(id, 'five', editor, 4)).snapshotId).toBeDefined();
  });

  test('are not taken if nothing changes or a named one keeps the state already', async () => {
    const { id } = await document('one');
    expect(await write(id, 'one')).toMatchObject({ changed: false, snapshotId: undefined });
    const named = await take(id, 'First');
    expect((await write(id, 'two')).snapshotId).toBe(named.id);
    expect(await list(id)).toHaveLength(1);
  });
});

describe('a snapshot', () => {
  test('is taken once of a state', async () => {
    const { id } = await document('one');
    const first = await take(id, 'First');
    expect(first).toMatchObject({ name: 'First', reason: SnapshotReason.MANUAL, contentVersion: 1, sizeBytes: 3 });
    const reply: Reply = {};
    expect((await take(id, 'Second', reply)).id).toBe(first.id);
    expect(reply.status).toBe(200);
    await write(id, 'two', editor, 1);
    expect((await take(id, 'Second')).id).not.toBe(first.id);
    expect(await list(id, SnapshotReason.MANUAL)).toHaveLength(2);
  });

  test('reads back what it keeps, by its id and by the version', async () => {
    const { id } = await document('# One\r\n');
    const { id: snapshotId } = await take(id);
    await write(id, 'two');
    expect(textOf(await get(id, snapshotId))).toBe('# One\r\n');
    expect(textOf(await read(id, { snapshotId }))).toBe('# One\r\n');
    const earlier = await read(id, { version: 1 });
    expect(earlier).toMatchObject({ version: 1, etag: '"v1"' });
    expect(textOf(earlier)).toBe('# One\r\n');
    expect(textOf(await read(id, { version: 2 }))).toBe('two');
    await expect(read(id, { version: 3 })).rejects.toMatchObject({ reason: 'not_found' });
    await expect(read(id, { version: 1, snapshotId })).rejects.toMatchObject({ reason: 'conflicting_alias' });
  });

  test('is restored, after the replaced content was kept', async () => {
    const { id } = await document('one');
    const { id: snapshotId } = await take(id);
    await write(id, 'two', editor, 1);
    const restored = await send(id, { snapshotId }, editor, 2);
    expect(restored).toMatchObject({ version: 3, replacedVersion: 2, changed: true });
    expect(textOf(restored)).toBe('one');
    expect(textOf(await get(id, restored.snapshotId as string))).toBe('two');
    expect((await list(id, SnapshotReason.BEFORE_RESTORE)).map((one) => one.id)).toEqual([restored.snapshotId]);
    expect(await send(id, { snapshotId })).toMatchObject({ changed: false, snapshotId: undefined });
  });

  test('can be compared with the current content and with another snapshot', async () => {
    const { id } = await document('one\ntwo\nthree\n');
    const { id: first } = await take(id);
    await write(id, 'one\n2\nthree\nfour\n', editor, 1);
    const { id: second } = await take(id);
    for (const to of ['current', second]) {
      const { diff } = await get(id, first, to);
      expect(diff).toMatchObject({ to, contentVersion: 2, added: 2, removed: 1, truncated: false });
      expect(diff?.unified).toBe('--- snapshot\n+++ other\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n');
    }
    expect((await get(id, second, 'current')).diff).toMatchObject({ added: 0, removed: 0, unified: '' });
    await expect(get(id, first, 'nothing')).rejects.toMatchObject({ reason: 'invalid_value', param: 'diff_to' });
  });

  test('belongs to its own resource only', async () => {
    const [one, other] = [await document('one'), await document('other')];
    const { id: snapshotId } = await take(other.id);
    await expect(get(one.id, snapshotId)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(send(one.id, { snapshotId })).rejects.toMatchObject({ reason: 'not_found' });
    await expect(remove(one.id, snapshotId, admin)).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('can be deleted by a manager, the newest automatic one only after a day', async () => {
    const { id } = await document('one');
    const first = (await write(id, 'two')).snapshotId as string;
    const second = (await write(id, 'three')).snapshotId as string;
    await expect(remove(id, first, editor)).rejects.toMatchObject({ reason: 'insufficient_role' });
    await expect(remove(id, second, admin)).rejects.toMatchObject({ reason: 'snapshot_protected' });
    expect(await remove(id, first, admin)).toEqual({ id: first, deleted: true });
    await expect(get(id, first)).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('shares its content with equal snapshots, until the last of them is deleted', async () => {
    const { id } = await document('one');
    const { id: first } = await take(id);
    await write(id, 'two');
    await send(id, { snapshotId: first });
    const { id: second } = await take(id);
    await remove(id, first, admin);
    expect(textOf(await get(id, second))).toBe('one');
  });

  test('cannot be taken of a folder', async () => {
    const { id } = await world.create(editor, {});
    await expect(take(id)).rejects.toMatchObject({ reason: 'content_not_supported' });
    await expect(list(id)).rejects.toMatchObject({ reason: 'content_not_supported' });
  });
});

test('publishes writes and snapshots with their reasons', async () => {
  const { id } = await document('one');
  const seen: unknown[] = [];
  const types = ['commonplace.resources.content.updated', 'commonplace.resources.snapshot.created'];
  const subscription = await world.stage.host.bus.subscribe({ consumer: 'snapshots-test', types }, async (events) => {
    for (const { subject, data } of events) if (subject === id) seen.push([data.reason, data.contentVersion]);
  });
  const { snapshotId } = await write(id, 'two');
  await send(id, { snapshotId } as never);
  await take(id);
  const expected = [
    ['before_replace', 1],
    ['replace', 2],
    ['before_restore', 2],
    ['restore', 3],
    ['manual', 3],
  ];
  await eventually(() => expect(seen).toEqual(expected));
  await subscription.close();
});

describe('modes of a document', () => {
  const edit = (oldText: string, newText: string, replaceAll = false) => ({ oldText, newText, replaceAll });

  test('edits change parts of the text', async () => {
    const { id } = await document('one two two\n');
    const edits = [edit('one', 'three'), edit('two', '2', true), edit('three 2', 'five')];
    const written = await send(id, { mode: ContentMode.EDIT, edits });
    expect([textOf(written), written.version]).toEqual(['five 2\n', 2]);
    expect(textOf(await get(id, written.snapshotId as string))).toBe('one two two\n');
  });

  test('edits that make the text too long are refused before it is made', async () => {
    const { id } = await document('aaaaaaaaaa');
    const edits = Array.from({ length: 9 }, () => edit('a', 'aaaaaaaaaa', true));
    await expect(send(id, { mode: ContentMode.EDIT, edits })).rejects.toMatchObject({
      ...{ reason: 'payload_too_large', param: 'edits' },
      details: { setting: 'COMMONPLACE_DOCUMENT_BYTES' },
    });
  });

  test('edits that do not all apply change nothing', async () => {
    const { id } = await document('one two two');
    const refused = send(id, {
      mode: ContentMode.EDIT,
      edits: [edit('one', '1'), edit('two', '2'), edit('four', '4')],
    });
    await expect(refused).rejects.toMatchObject({
      reason: 'edit_not_applicable',
      faults: [{ param: 'edits[1].old_text' }, { param: 'edits[2].old_text' }],
    });
    expect(textOf(await read(id))).toBe('one two two');
  });

  test('append and prepend add blocks and leave the rest as it was', async () => {
    const { id } = await document('# One\r\n\ttext');
    await send(id, { mode: ContentMode.APPEND, content: json('End') });
    const { snapshotId } = await send(id, { mode: ContentMode.PREPEND, markdown: 'Start' });
    expect(textOf(await read(id))).toBe('Start\n\n# One\r\n\ttext\n\nEnd');
    expect(snapshotId).toBeUndefined();
  });

  test('many concurrent appends all succeed', async () => {
    const { id } = await document('');
    const lines = Array.from({ length: 20 }, (_, i) => `Line ${i}`);
    await Promise.all(lines.map((line) => send(id, { mode: ContentMode.APPEND, content: json(line) })));
    expect(
      textOf(await read(id))
        .split('\n\n')
        .sort(),
    ).toEqual([...lines].sort());
  });
});

describe('an artifact', () => {
  const artifact = (fields = {}) => world.create(editor, { type: ResourceType.ARTIFACT, ...fields });

  test('is written by its fields or by content, and read back', async () => {
    const { id } = await artifact();
    expect(await read(id)).toMatchObject({ artifactType: ArtifactType.CODE, source: '' });
    const used = await document('used');
    const assets = [{ name: 'a.md', resourceId: used.id }];
    const written = await send(id, { artifactType: ArtifactType.SVG, source: '<svg/>', title: 'T', assets });
    expect(written).toMatchObject({ artifactType: ArtifactType.SVG, source: '<svg/>', title: 'T', assets, version: 2 });
    await send(id, { content: json({ source: 'new', language: 'js' }) });
    const now = await read(id);
    expect(now).toMatchObject({ artifactType: ArtifactType.SVG, source: 'new', language: 'js', assets: [] });
    expect(now.title).toBeUndefined();
    expect(await read(id, { version: 2 })).toMatchObject({ source: '<svg/>', assets });
  });

  test('has a new version if any of its fields is another, and none if all are the same', async () => {
    const { id } = await artifact();
    const fields = { artifactType: ArtifactType.CODE, source: 'a', language: 'js', title: 'T' };
    const versionAfter = async (change: object) => (await send(id, { ...fields, ...change })).version;
    expect(await versionAfter({})).toBe(2);
    expect(await versionAfter({})).toBe(2);
    expect(await versionAfter({ source: 'b' })).toBe(3);
    expect(await versionAfter({ source: 'b', language: 'ts' })).toBe(4);
    expect(await versionAfter({ source: 'b', language: 'ts', title: 'U' })).toBe(5);
    expect(await versionAfter({ source: 'b', language: 'ts', title: 'U' })).toBe(5);
  });

  test('starts with the content of its creation, or is not created', async () => {
    const { id } = await artifact({ content: json({ artifact_type: 'html', source: '<p>' }) });
    expect(await read(id)).toMatchObject({ artifactType: ArtifactType.HTML, source: '<p>', version: 1 });
    expect((await world.get(editor, id)).sizeBytes).toBe(3);
    const name = 'Bad artifact';
    await expect(artifact({ name, content: json({ artifact_type: 'html' }) })).rejects.toMatchObject({
      reason: 'missing_field',
      param: 'content.source',
    });
    expect((await world.list(editor, { q: name })).total).toBe(0);
  });

  test('reports all faults at once', async () => {
    const { id } = await artifact();
    const hidden = await world.create(world.member(WorkspaceRole.OWNER), {
      type: ResourceType.DOCUMENT,
      workspaceId: world.personalId,
    });
    const content = json({
      artifact_type: 'painting',
      source: 7,
      colour: 'red',
      assets: [{ name: 'a', resource_id: hidden.id }, { name: '' }],
    });
    await expect(send(id, { content })).rejects.toMatchObject({
      reason: 'validation_failed',
      faults: [
        { param: 'content.colour', code: 'unknown_field' },
        { param: 'content.artifact_type', code: 'invalid_value' },
        { param: 'content.source', code: 'invalid_type' },
        { param: 'content.assets[1].name' },
        { param: 'content.assets[1].resource_id' },
        { param: 'content.assets[0].resource_id', code: 'invalid_value' },
      ],
    });
    const tooLarge = send(id, { source: 'x'.repeat(2 * 1024 * 1024 + 1) });
    await expect(tooLarge).rejects.toMatchObject({ reason: 'payload_too_large', param: 'source' });
    expect((await read(id)).version).toBe(1);
  });
});

test.each([
  ['two contents', { content: json('a'), markdown: 'a' }, 'conflicting_alias', 'markdown'],
  [
    'a content and a snapshot',
    { content: json('a'), snapshotId: '00000000-0000-7000-8000-000000000000' },
    'conflicting_alias',
    'content',
  ],
  ['nothing', {}, 'missing_field', 'content'],
  ['rows', { rows: json([]) }, 'content_not_supported', 'rows'],
  ['a source', { source: 'x' }, 'content_not_supported', 'source'],
  ['another mode', { content: json('a'), mode: 'CONTENT_MODE_UPSERT' }, 'invalid_value', 'mode'],
  ['no edits', { content: json('a'), mode: 'CONTENT_MODE_EDIT' }, 'missing_field', 'edits'],
  ['edits without their mode', { edits: [{ oldText: 'a', newText: 'b', replaceAll: false }] }, 'invalid_value', 'mode'],
])('refuses a write of a document with %s', async (_, fields, reason, param) => {
  const { id } = await document('one');
  await expect(send(id, fields as never)).rejects.toMatchObject({ reason, param });
  expect(await list(id)).toEqual([]);
});
