import type { Caller } from '@commonplace/kit/auth';
import type { Reply } from '@commonplace/kit/rpc';
import { GetContentRequest, ReplaceContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

let world: World;
let editor: Caller;
beforeAll(async () => {
  world = await openWorld();
  editor = world.member(WorkspaceRole.EDITOR);
});
afterAll(() => world.stage.close());

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const document = (content = '') => world.create(editor, { type: ResourceType.DOCUMENT, content: json(content) });

async function write(id: string, content: string, metadata = {}, reply: Reply = {}) {
  const request = ReplaceContentRequest.fromPartial({ resourceId: id, content: json(content) });
  return world.content.replaceContent(request, await world.stage.as(editor, metadata, reply));
}

async function read(id: string): Promise<string> {
  const { content } = await world.content.getContent(
    GetContentRequest.fromPartial({ resourceId: id }),
    await world.stage.as(editor),
  );
  return JSON.parse(content.toString());
}

test.each([
  '',
  'a',
  '# T\r\n\r\n\ttabs and  spaces \n',
  '\ufeffwith a mark',
  'emoji 👩‍👩‍👧 and \u2028 lines',
  'x'.repeat(300_000),
])('content reads back as it was written', async (text) => {
  const { id } = await document();
  await write(id, text);
  expect(await read(id)).toBe(text);
});

test('a write increments both versions; writing the same text again changes nothing', async () => {
  const { id } = await document('one');
  const first = await write(id, 'two');
  expect(first).toMatchObject({ version: 2, replacedVersion: 1, changed: true });
  expect(await write(id, 'two')).toMatchObject({ version: 2, changed: false });
  expect(await world.get(editor, id)).toMatchObject({ version: 2, contentVersion: 2, sizeBytes: 3 });
});

test('a stale base version is refused and leaves the text alone', async () => {
  const { id } = await document('one');
  await write(id, 'two', { baseVersion: 1 });
  await expect(write(id, 'three', { baseVersion: 1 })).rejects.toMatchObject({ reason: 'version_conflict' });
  expect(await read(id)).toBe('two');
});

test('an Idempotency-Key repeats the first response, and refuses another body', async () => {
  const { id } = await document('one');
  const idempotency = { id: `key-${id}`, fingerprint: 'a' };
  const first = await write(id, 'two', { idempotency, requestId: 'req_first' });
  const reply: Reply = {};
  const again = await write(id, 'two', { idempotency }, reply);
  expect(again).toEqual(first);
  expect(reply.replayOf).toBe('req_first');
  const other = write(id, 'three', { idempotency: { ...idempotency, fingerprint: 'b' } });
  await expect(other).rejects.toMatchObject({ reason: 'idempotency_key_reused' });
  expect((await world.get(editor, id)).contentVersion).toBe(2);
});

test('refuses a replay to a caller who has lost access', async () => {
  const member = world.member(WorkspaceRole.EDITOR);
  const { id } = await document('one');
  const idempotency = { id: `right-${id}`, fingerprint: 'a' };
  const send = async () => {
    const request = ReplaceContentRequest.fromPartial({ resourceId: id, content: json('two') });
    return world.content.replaceContent(request, await world.stage.as(member, { idempotency }));
  };
  await send();
  world.setRole(member, WorkspaceRole.VIEWER);
  await world.get(editor, id);
  await expect(send()).rejects.toMatchObject({ reason: 'insufficient_role' });
});

test('refuses content that is not a document or is too large', async () => {
  const { id } = await document();
  const folder = await world.create(editor, {});
  await expect(write(folder.id, 'x')).rejects.toMatchObject({ reason: 'content_not_supported' });
  await expect(write(id, 'x'.repeat(5 * 1024 * 1024 + 1))).rejects.toMatchObject({ reason: 'payload_too_large' });
});
