import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { type Person, signIn, signUp } from '../src/people.js';
import type { Comment, Fault, List, NotificationList, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

let system: System;
let owner: Person;
let reader: Person;
let workspace: Workspace;
let document: Resource;
let comments: string;

beforeAll(async () => {
  system = await standingSystem();
  [owner, reader] = await Promise.all([signIn(system, system.owner), signUp(system, 'Reader')]);
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Talk' })).data;
  await owner.post(`/workspaces/${workspace.id}/members`, { user_id: reader.user.id, role: 'commenter' });
});

beforeEach(async () => {
  const body = { type: 'document', name: 'Draft', workspace_id: workspace.id, content: 'The quick brown fox.' };
  document = (await owner.post<Resource>('/resources', body)).data;
  comments = `/resources/${document.id}/comments`;
});

test('a conversation is anchored, answered, resolved and deleted', async () => {
  const anchor = { quote: 'brown fox', prefix: 'quick ' };
  const head = await reader.post<Comment>(comments, { body: 'Is it **red**?', anchor });
  expect(head.status).toBe(201);
  expect(head.data).toMatchObject({
    body: 'Is it **red**?',
    status: 'open',
    anchor: { quote: 'brown fox', prefix: 'quick ', suffix: null, block_id: expect.any(String), state: 'active' },
    author: { type: 'user', id: reader.user.id },
    parent_comment_id: null,
    is_deleted: false,
    reactions: [],
  });
  const reply = await owner.post<Comment>(comments, { content: 'No.', parent_comment_id: head.data.id });
  expect(reply.data).toMatchObject({ thread_id: head.data.id, body: 'No.', anchor: null });
  await owner.patch(`/resources/${document.id}/content`, { content: 'All new.' });
  const list = await reader.get<List<Comment>>(`${comments}?status=open`);
  expect(list.data.items.map(({ id }) => id)).toEqual([head.data.id, reply.data.id]);
  expect(list.data.items[0]?.anchor?.state).toBe('orphaned');
  const resolved = await owner.patch<Comment>(`${comments}/${head.data.id}`, { status: 'resolved' });
  expect(resolved.data).toMatchObject({ status: 'resolved', resolved_by: { id: owner.user.id } });
  expect((await reader.get<List<Comment>>(`${comments}?status=open`)).data.items).toEqual([]);
  expect((await reader.del(`${comments}/${head.data.id}`)).data).toEqual({ id: head.data.id, deleted: true });
  const left = (await reader.get<List<Comment>>(`${comments}?thread_id=${head.data.id}`)).data.items;
  expect(left).toMatchObject([
    { body: null, body_html: null, is_deleted: true },
    { body: 'No.', is_deleted: false },
  ]);
});

test('a change needs the right person and the current version', async () => {
  const { data } = await reader.post<Comment>(comments, { body: 'First' });
  const path = `${comments}/${data.id}`;
  expect((await owner.patch(path, { body: 'Not mine' })).error.code).toBe('insufficient_role');
  const match = { headers: { 'If-Match': '"v1"' } };
  const edited = await reader.patch<Comment>(path, { body: 'Second' }, match);
  expect([edited.status, edited.data.version]).toEqual([200, 2]);
  expect((await reader.patch(path, { body: 'Third' }, match)).error.code).toBe('version_conflict');
  await owner.patch(path, { reactions: ['👍'] });
  const { reactions } = (await reader.patch<Comment>(path, { reactions: ['👍'] })).data;
  expect(reactions).toEqual([{ emoji: '👍', count: 2, me: true }]);
  expect((await reader.patch(path, {})).error.code).toBe('no_update_field');
});

test('a repeated request creates one comment', async () => {
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = await reader.post<Comment>(comments, { body: 'Once' }, { headers });
  const again = await reader.post<Comment>(comments, { body: 'Once' }, { headers });
  expect([again.status, again.data.id]).toEqual([201, first.data.id]);
  expect((await reader.get(comments)).page.total).toBe(1);
});

test('a person who cannot read the document is not mentioned', async () => {
  const stranger = await signUp(system, 'Stranger');
  const body = `@[Owner](user:${owner.user.id}) and @[Stranger](user:${stranger.user.id})`;
  const { data, body: envelope } = await reader.post<Comment>(comments, { body });
  expect(data.mentions).toEqual([owner.user.id]);
  expect(envelope.warnings).toMatchObject([{ code: 'mention_not_notified' }]);
});

test('people who are mentioned or in the thread are notified', async () => {
  const inbox = async (who: Person) => {
    const { data } = await who.get<NotificationList>(`/notifications?workspace_id=${workspace.id}`);
    return data.items.filter(({ target }) => target?.id === document.id).map(({ type }) => type);
  };
  const head = await reader.post<Comment>(comments, { body: `@[Owner](user:${owner.user.id}), please look.` });
  await eventually(async () => expect(await inbox(owner)).toEqual(['mention']));
  await owner.post<Comment>(comments, { body: 'Looked.', parent_comment_id: head.data.id });
  await owner.patch(`${comments}/${head.data.id}`, { status: 'resolved' });
  await eventually(async () => expect((await inbox(reader)).sort()).toEqual(['comment_reply', 'comment_resolved']));
  expect(await inbox(owner)).toEqual(['mention']);
});

test('all errors are reported at once, and nothing is stored', async () => {
  const wrong = await reader.post(comments, { body: 7, anchor: {}, mentions: ['me'], colour: 'red' });
  expect(wrong.status).toBe(400);
  const faults = (wrong.error.details as readonly Fault[]).map(({ param, code }) => `${param} ${code}`);
  expect(faults.sort()).toEqual([
    'anchor.quote missing_field',
    'body invalid_type',
    'colour unknown_field',
    'mentions[0] invalid_value',
  ]);
  expect((await reader.post(comments, { body: '\n' })).error.param).toBe('body');
  const lost = await reader.post(comments, { body: 'x', parent_comment_id: randomUUID() });
  expect([lost.status, lost.error.code]).toEqual([404, 'not_found']);
  const folder = await owner.post<Resource>('/resources', { type: 'folder', name: 'F', workspace_id: workspace.id });
  const elsewhere = await reader.post(`/resources/${folder.data.id}/comments`, { body: 'x' });
  expect([elsewhere.status, elsewhere.error.code]).toEqual([400, 'not_a_document']);
  expect((await reader.get(comments)).page.total).toBe(0);
});

test('a comment’s HTML is safe', async () => {
  const body = '<img src=x onerror=alert(1)> [a](javascript:alert(1))\n\n<script>1</script>';
  const { body_html: html } = (await reader.post<Comment>(comments, { body })).data;
  expect(html).not.toMatch(/<script|<img[^>]*onerror|href="javascript/i);
});
