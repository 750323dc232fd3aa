import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { endOfRun } from '../src/chat.js';
import { type Credential, credentialHeaders } from '../src/client.js';
import { type Feed, openFeed } from '../src/event-feed.js';
import { eventually } from '../src/eventually.js';
import { newForm } from '../src/forms.js';
import { importAll } from '../src/imports.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { Comment, Org, Resource, Workspace, WorkspaceMember } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

let system: System;
let by: Person;
let reader: Person;
let workspace: Workspace;
const open: Feed[] = [];

beforeAll(async () => {
  system = await standingSystem();
  by = await signUp(system, 'Writer');
  reader = await signUp(system, 'Reader');
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Feeds' })).data;
  await by.post(`/workspaces/${workspace.id}/members`, { user_id: reader.user.id, role: 'viewer' });
}, 90_000);

afterEach(async () => {
  for (const feed of open.splice(0)) await feed.close();
});

async function watch(credential: Credential, query = '', headers: Readonly<Record<string, string>> = {}) {
  const feed = await openFeed(system, credential, query, headers);
  open.push(feed);
  return feed;
}

async function write(name: string, more: object = {}): Promise<Resource> {
  const body = { workspace_id: workspace.id, type: 'document', name, content: 'Some words.', ...more };
  return (await by.post<Resource>('/resources', body)).data;
}

async function refused(credential: Credential, query: string): Promise<[number, string]> {
  const headers = { ...credentialHeaders(credential, 'GET'), Accept: 'text/event-stream' };
  const response = await fetch(`${system.baseUrl}/api/v1/events${query}`, { headers });
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code];
}

describe('a stream', () => {
  test("contains each type of event once after a person's actions", async () => {
    const feed = await watch(by.session, `?workspace_id=${workspace.id}`);
    expect(feed.response.headers.get('x-accel-buffering')).toBe('no');
    expect(feed.all[0]).toMatchObject({ event: 'position', id: expect.stringMatching(/^[\w-]{54}$/) });

    const page = await write('Page');
    const folder = await write('Folder', { type: 'folder', content: undefined });
    await by.patch(`/resources/${page.id}`, { name: 'Page again' });
    await by.patch(`/resources/${page.id}`, { parent_id: folder.id });
    await by.patch(`/resources/${page.id}/content`, { mode: 'append', content: 'More.' });
    const comments = `/resources/${page.id}/comments`;
    const { data: comment } = await by.post<Comment>(comments, { body: 'Well.' });
    await by.patch(`${comments}/${comment.id}`, { body: 'Well?' });
    await by.patch(`${comments}/${comment.id}`, { status: 'resolved' });
    await by.del(`${comments}/${comment.id}`);
    await by.post(`/resources/${page.id}/permissions`, {
      principal_type: 'user',
      principal_id: reader.user.id,
      role: 'commenter',
    });
    const hidden = await write('Hidden', { access_mode: 'restricted' });
    const asked = await reader.post<{ id: string }>(`/resources/${hidden.id}/access-requests`, { role: 'viewer' });
    await by.patch(`/access-requests/${asked.data.id}`, { status: 'approved' });
    await by.post(`/resources/${page.id}/publish`, {});
    const { form } = await newForm(by, workspace.id);
    await by.post(`/forms/${form.token}/submit`, { values: { name: 'Somebody' } });
    await importAll(by, workspace.id, { source_type: 'markdown', content: '# Imported' });
    const extra = await signUp(system, 'Extra');
    const member = await by.post<WorkspaceMember>(`/workspaces/${workspace.id}/members`, {
      ...{ user_id: extra.user.id, role: 'viewer' },
    });
    await by.del(`/workspaces/${workspace.id}/members/${member.data.id}`);
    const run = await by.post<{ id: string }>('/agent-runs', { input: 'Words?', workspace_id: workspace.id });
    await endOfRun(by, run.data.id);
    const expected = [
      ...['resource.created', 'resource.updated', 'resource.moved', 'content.updated', 'comment.created'],
      ...['comment.updated', 'comment.resolved', 'comment.deleted', 'permission.changed', 'access_request.created'],
      ...['access_request.decided', 'publication.updated', 'form.submitted', 'import.finished', 'member.added'],
      ...['member.removed', 'agent_run.finished'],
    ];
    for (const type of expected) await feed.sees(type);
    // An event that is delivered after a resource was deleted contains only the deletion.
    await by.del(`/resources/${page.id}`);
    await feed.sees('resource.trashed');
    await by.post(`/resources/${page.id}/restore`, {});
    await feed.sees('resource.restored');
    await by.del(`/resources/${page.id}`);
    await by.del(`/workspaces/${workspace.id}/trash`);
    await feed.sees('resource.purged');

    const events = feed.events();
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    for (const event of events) {
      expect(event).toMatchObject({ id: expect.stringMatching(/^evt_/), workspace_id: workspace.id, chain: [] });
      expect(JSON.stringify(event).length).toBeLessThan(20_000);
    }
    const created = events.find(({ type, data }) => type === 'resource.created' && data.resource_ids !== undefined);
    expect(created).toMatchObject({ actor: { type: 'user', id: by.user.id }, data: { resource_ids: [page.id] } });
    expect(events.filter(({ type }) => type === 'comment.created')).toHaveLength(1);
  }, 120_000);

  test('contains messages for the members of their conversation, and read marks for their reader only', async () => {
    const outsider = await signUp(system, 'Outsider');
    await by.post(`/workspaces/${workspace.id}/members`, { user_id: outsider.user.id, role: 'viewer' });
    const feeds = {
      by: await watch(by.session, `?workspace_id=${workspace.id}`),
      reader: await watch(reader.session, `?workspace_id=${workspace.id}`),
      outsider: await watch(outsider.session, `?workspace_id=${workspace.id}`),
    };
    const made = await by.post<{ id: string }>('/im/conversations', {
      ...{ type: 'group', workspace_id: workspace.id, name: 'Talk', member_ids: [reader.user.id] },
    });
    const conversation = `/im/conversations/${made.data.id}`;
    const sent = await by.post<{ id: string; seq: number }>(`${conversation}/messages`, { text: 'Hello there' });
    const message = await feeds.reader.sees('message.created');
    expect(message.data).toMatchObject({ conversation_id: made.data.id, seq: sent.data.seq, text: 'Hello there' });
    await by.patch(`${conversation}/messages/${sent.data.id}`, { text: 'Hello again' });
    await reader.post(`${conversation}/read`, {});
    const read = await feeds.reader.sees('conversation.read');
    expect(read.data).toMatchObject({ conversation_id: made.data.id, unread_count: 0, total_unread: 0 });
    await by.del(`${conversation}/messages/${sent.data.id}`);
    await feeds.reader.sees('message.deleted');
    await feeds.by.sees('message.deleted');
    const readers = feeds.by.events().filter(({ type }) => type === 'conversation.read');
    expect(readers.every(({ data }) => data.unread_count === 0)).toBe(true);
    await write('After all');
    await feeds.outsider.sees('resource.created');
    expect(feeds.outsider.types().filter((type) => /^(message|conversation)\./.test(type))).toEqual([]);
    const alone = await watch(reader.session, `?workspace_id=${workspace.id}&conversation_id=${made.data.id}`);
    await write('Elsewhere');
    await by.post(`${conversation}/messages`, { text: 'Once more' });
    await alone.sees('message.created');
    expect(new Set(alone.types().map((type) => type.split('.')[0]))).not.toContain('resource');
    expect(await refused(outsider.session, `?workspace_id=${workspace.id}&conversation_id=${made.data.id}`)).toEqual([
      404,
      'not_found',
    ]);
  }, 60_000);

  test('of one conversation is in its tenant, whatever the default is, and ends when its reader leaves it', async () => {
    const { data: org } = await by.post<Org>('/orgs', { name: 'Talkers' });
    const { data: inOrg } = await by.post<Workspace>('/workspaces', { name: 'Talks', org_id: org.id });
    const talk = async (body: object) =>
      (await by.post<{ id: string }>('/im/conversations', { type: 'group', ...body })).data.id;
    const ofOrg = await talk({ workspace_id: inOrg.id });
    const personal = await talk({ workspace_id: workspace.id, member_ids: [reader.user.id] });
    const feeds = [
      await watch(by.session, `?conversation_id=${ofOrg}`),
      await watch(by.session, `?conversation_id=${personal}`),
    ];
    for (const [i, id] of [ofOrg, personal].entries()) {
      await by.post(`/im/conversations/${id}/messages`, { text: 'Hello' });
      expect((await feeds[i]?.sees('message.created'))?.data.conversation_id).toBe(id);
    }
    expect(await refused(by.session, `?workspace_id=${workspace.id}&conversation_id=${ofOrg}`)).toEqual([
      404,
      'not_found',
    ]);
    const { key } = await newKey(by, ['im:read']);
    expect(await refused(key, `?conversation_id=${ofOrg}`)).toEqual([403, 'tenant_boundary']);
    expect(await refused(reader.session, `?conversation_id=${ofOrg}`)).toEqual([404, 'not_found']);
    const left = await watch(reader.session, `?conversation_id=${personal}`);
    await by.patch(`/im/conversations/${personal}`, { remove_member_ids: [reader.user.id] });
    await left.ended;
    expect(left.types()).toEqual(['conversation.updated']);
    expect(left.all.at(-1)).toMatchObject({ event: 'error', data: { code: 'not_found' } });
  }, 60_000);

  test('needs the scope of each type', async () => {
    const { key } = await newKey(by, ['comment:read']);
    const feed = await watch(key);
    const page = await write('Scoped');
    await by.post(`/resources/${page.id}/comments`, { body: 'Scoped.' });
    await feed.sees('comment.created');
    expect(new Set(feed.types())).toEqual(new Set(['comment.created']));
    expect(await refused(key, '?types=resource.created')).toEqual([403, 'insufficient_scope']);
    expect(await refused(key, '?types=comment.unheard')).toEqual([400, 'invalid_value']);
    expect(await refused(key, '?workspace_id=nowhere')).toEqual([400, 'invalid_value']);
  });

  test('of another tenant, or for a key for other workspaces, contains nothing', async () => {
    const stranger = await signUp(system, 'Stranger');
    const { data: org } = await by.post<Org>('/orgs', { name: 'Elsewhere' });
    const { data: other } = await by.post<Workspace>('/workspaces', { name: 'Other' });
    const { key } = await newKey(by, ['resource:read'], { workspace_ids: [other.id] });
    const feeds = [
      await watch(stranger.session),
      await watch(key),
      await watch(by.session, '', { 'X-Tenant': org.id }),
      await watch(by.session, '', { 'X-Workspace-Id': other.id }),
    ];
    const own = await watch(by.session);
    await write('Private');
    await own.sees('resource.created');
    // Each stream receives a later event, so the missing ones are not just late.
    const theirs = (place: string, from = by, headers = {}) =>
      from.post('/resources', { workspace_id: place, type: 'folder', name: 'Own' }, { headers });
    const { data: home } = await stranger.post<Workspace>('/workspaces', { name: 'Home' });
    const { data: inOrg } = await by.post<Workspace>('/workspaces', { name: 'In the Org', org_id: org.id });
    await theirs(home.id, stranger);
    await theirs(other.id);
    await theirs(inOrg.id);
    const places = [home.id, other.id, inOrg.id, other.id];
    for (const [i, feed] of feeds.entries()) {
      const event = await feed.sees('resource.created');
      expect(event.workspace_id).toBe(places[i]);
      expect(feed.events().filter(({ workspace_id: id }) => id === workspace.id)).toEqual([]);
    }
    expect(await refused(stranger.session, `?workspace_id=${workspace.id}`)).toEqual([404, 'not_found']);
    expect(await refused(key, `?workspace_id=${workspace.id}`)).toEqual([403, 'tenant_boundary']);
  }, 60_000);

  test('contains a restricted resource once it is shared', async () => {
    const secret = await write('Secret', { access_mode: 'restricted' });
    const feed = await watch(reader.session, `?workspace_id=${workspace.id}`);
    await by.patch(`/resources/${secret.id}`, { name: 'Secret of some' });
    const page = await write('Public');
    await feed.sees('resource.created');
    expect(JSON.stringify(feed.events())).not.toContain(secret.id);
    await by.post(`/resources/${secret.id}/permissions`, {
      principal_type: 'user',
      principal_id: reader.user.id,
      role: 'viewer',
    });
    await by.patch(`/resources/${secret.id}`, { name: 'Secret of two' });
    const changed = await feed.sees('resource.updated');
    expect([changed.data.resource_ids, page.id === secret.id]).toEqual([[secret.id], false]);
  });

  test('ends when its key is revoked, and when its person leaves the workspace', async () => {
    const key = await newKey(by, ['resource:read']);
    const leaver = await signUp(system, 'Leaver');
    const { data: member } = await by.post<WorkspaceMember>(`/workspaces/${workspace.id}/members`, {
      ...{ user_id: leaver.user.id, role: 'viewer' },
    });
    const [revoked, left] = [await watch(key.key), await watch(leaver.session, `?workspace_id=${workspace.id}`)];
    await by.del(`/api-keys/${key.id}`);
    await by.del(`/workspaces/${workspace.id}/members/${member.id}`);
    await Promise.all([revoked.ended, left.ended]);
    expect(revoked.all.at(-1)).toMatchObject({ event: 'error', data: { code: 'revoked_key' } });
    expect(left.all.at(-1)).toMatchObject({ event: 'error', data: { code: 'not_found' } });
  }, 30_000);

  test('resumes after each of its events, and starts over at an unknown position', async () => {
    const { data: own } = await by.post<Workspace>('/workspaces', { name: 'Resumed' });
    const query = `?workspace_id=${own.id}&types=resource.created`;
    const feed = await watch(by.session, query);
    const names = Array.from({ length: 6 }, (_, i) => `Folder ${i}`);
    for (const name of names) await by.post('/resources', { workspace_id: own.id, type: 'folder', name });
    const received = await openAt(feed, names.length);
    for (const [i, { id = '' }] of received.entries()) {
      const again = await watch(by.session, query, { 'Last-Event-ID': id });
      if (i < received.length - 1) await openAt(again, received.length - 1 - i);
      expect(again.all.map((event) => event.id)).toEqual(received.slice(i + 1).map((event) => event.id));
      await again.close();
    }
    const lost = await watch(by.session, query, { 'Last-Event-ID': 'from-elsewhere' });
    await eventually(() => expect(lost.all[0]).toMatchObject({ event: 'reset', data: { reason: 'unknown' } }));
    const { data } = await by.get<{ items: { id: string }[] }>(`/events${query}`);
    expect(data.items.map(({ id }) => id)).toEqual(received.slice(1).map((event) => event.data.id));
  }, 60_000);
});

/** Waits until a feed has a number of events, and returns them with its position. */
function openAt(feed: Feed, count: number) {
  return eventually(() => {
    if (feed.events().length < count) throw new Error(`${feed.events().length} of ${count} events`);
    return feed.all;
  });
}
