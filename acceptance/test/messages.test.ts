import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newAddress, newKey, type Person, signUp, tokenOf } from '../src/people.js';
import type { List, Member, Org, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

interface Conversation {
  readonly id: string;
  readonly type: string;
  readonly workspace_id: string | null;
  readonly org_id: string | null;
  readonly member_count: number;
  readonly members?: readonly { readonly principal: { readonly name: string }; readonly role: string }[];
  readonly last_message: Message | null;
  readonly last_seq: number;
  readonly unread_count: number;
  readonly mention_count: number;
  readonly version: number;
}

interface Message {
  readonly id: string;
  readonly seq: number;
  readonly text: string;
  readonly is_deleted: boolean;
  readonly attachments: readonly { readonly hidden: boolean; readonly name: string | null }[];
}

let system: System;
let ann: Person;
let ben: Person;
let stranger: Person;
let org: Org;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  [ann, stranger] = await Promise.all([signUp(system, 'Ann Author'), signUp(system, 'Strange R')]);
  org = (await ann.post<Org>('/orgs', { name: 'Talkers' })).data;
  workspace = (await ann.post<Workspace>('/workspaces', { name: 'Talks', org_id: org.id })).data;
  const email = newAddress('Ben');
  const invited = (await ann.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' })).data;
  ben = await signUp(system, 'Ben Reader', { email, invitation: tokenOf(invited.invite_url) });
  await ann.post(`/workspaces/${workspace.id}/members`, { user_id: ben.user.id, role: 'viewer' });
}, 90_000);

const IM = '/im/conversations';
const create = (by: Api, body: object) => by.post<Conversation>(IM, { workspace_id: workspace.id, ...body });
const group = async (body: object = {}) =>
  (await create(ann, { type: 'group', name: 'Group', member_ids: [ben.user.id], ...body })).data;
const send = (by: Api, id: string, body: object) => by.post<Message>(`${IM}/${id}/messages`, body);
const read = async (by: Api, id: string) => (await by.get<Conversation>(`${IM}/${id}`)).data;
const history = async (by: Api, id: string, query = '') => by.get<List<Message>>(`${IM}/${id}/messages${query}`);

describe('people', () => {
  test('have one direct conversation in a tenant, which others cannot see', async () => {
    const body = { type: 'direct', member_ids: [ben.user.id] };
    const made = await Promise.all([create(ann, body), create(ann, body), create(ann, body)]);
    expect(new Set(made.map(({ data }) => data.id)).size).toBe(1);
    expect(made.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    const { data } = made[0];
    expect([data.workspace_id, data.org_id, data.member_count]).toEqual([null, org.id, 2]);
    expect(
      (await ben.post<Conversation>(IM, { type: 'direct', org_id: org.id, member_ids: [ann.user.id] })).data.id,
    ).toBe(data.id);
    expect((await stranger.get(`${IM}/${data.id}`)).status).toBe(404);
    const unseen = await create(ann, { type: 'direct', member_ids: [stranger.user.id] });
    expect([unseen.status, unseen.error.param]).toEqual([404, 'member_ids[0]']);
  });

  test('exchange messages, and their counts are exact', async () => {
    const { id } = await group();
    const first = await send(ann, id, { text: 'Hello', mentions: [{ id: ben.user.id }], client_message_id: 'a' });
    expect([first.status, first.data.seq]).toEqual([201, 1]);
    const again = await send(ann, id, { text: 'Hello', client_message_id: 'a' });
    expect([again.status, again.data.id]).toEqual([200, first.data.id]);
    expect((await send(ann, id, { text: 'Bye', client_message_id: 'a' })).error.code).toBe('idempotency_key_reused');
    const second = await send(ann, id, { content: 'How are you?' });
    expect(second.data.text).toBe('How are you?');
    expect(await read(ben, id)).toMatchObject({ unread_count: 2, mention_count: 1, last_seq: 2 });
    await ann.patch(`${IM}/${id}/messages/${second.data.id}`, { mentions: [{ id: ben.user.id }] });
    expect(await read(ben, id)).toMatchObject({ unread_count: 2, mention_count: 2 });
    await ann.del(`${IM}/${id}/messages/${first.data.id}`);
    expect(await read(ben, id)).toMatchObject({ unread_count: 1, mention_count: 1, last_seq: 2 });
    const { data, body } = await history(ben, id);
    expect(data.items.map(({ seq, is_deleted }) => [seq, is_deleted])).toEqual([
      [2, false],
      [1, true],
    ]);
    expect(Object.keys(data.items[1] ?? {})).not.toContain('text');
    expect(body.page).toMatchObject({ total: 2, first_seq: 1, last_seq: 2, has_more_before: false });
    const marked = await ben.post(`${IM}/${id}/read`, {});
    expect(marked.data).toEqual({
      ...{ last_read_seq: 2, last_read_message_id: second.data.id },
      ...{ unread_count: 0, mention_count: 0 },
    });
  });

  test('react with emoji, not with texts of any length that are one character on the screen', async () => {
    const { id } = await group();
    const { data: sent } = await send(ann, id, { text: 'Lunch?' });
    const react = (emoji: string) => ben.patch(`${IM}/${id}/messages/${sent.id}`, { reactions: [emoji] });
    expect((await react('👩🏽‍❤️‍💋‍👨🏽')).status).toBe(200);
    const { status, error } = await react(`👍${'\u200d👍'.repeat(20)}`);
    expect([status, error.code, error.param]).toEqual([400, 'invalid_value', 'reactions[0]']);
  });

  test('see attachments that they may read', async () => {
    const page = { workspace_id: workspace.id, type: 'document', name: 'Plan', access_mode: 'restricted' };
    const { data: resource } = await ann.post<Resource>('/resources', page);
    const { id } = await group();
    expect((await send(ben, id, { attachments: [{ resource_id: resource.id }] })).status).toBe(404);
    await send(ann, id, { text: 'Look', attachments: [{ resource_id: resource.id }] });
    const seen = async (by: Api) => (await history(by, id)).data.items[0]?.attachments[0];
    expect(await seen(ann)).toMatchObject({ hidden: false, name: 'Plan' });
    expect(await seen(ben)).toMatchObject({ hidden: true, name: null });
  });

  test('find messages by words', async () => {
    const { id } = await group();
    const word = `zebra${randomUUID().replaceAll(/[^a-f]/g, '')}`;
    await send(ann, id, { text: `The ${word} runs` });
    await send(ann, id, { text: '明日は東京で会議' });
    expect((await history(ben, id, `?q=${word}%20run`)).data.items.map(({ seq }) => seq)).toEqual([1]);
    expect((await history(ben, id, `?q=${encodeURIComponent('東京')}`)).data.items.map(({ seq }) => seq)).toEqual([2]);
    const listed = await ben.get<List<Conversation>>(`${IM}?q=${word}`);
    expect(listed.data.items.map((one) => one.id)).toEqual([id]);
    expect((await stranger.get<List<Conversation>>(`${IM}?q=${word}`)).data.items).toEqual([]);
  });

  test('are notified of messages once for each conversation, until they have read them', async () => {
    const { id } = await group({ name: 'News' });
    await send(ann, id, { text: 'One' });
    await send(ann, id, { text: 'Two' });
    interface Note {
      readonly title: string;
      readonly count: number;
      readonly target: { readonly type: string; readonly id: string } | null;
    }
    const notes = async () => {
      const { data } = await ben.get<List<Note>>(`/notifications?workspace_id=${workspace.id}&state=unread&limit=200`);
      return data.items.filter(({ target }) => target?.id === id).map(({ title, count }) => [title, count]);
    };
    await eventually(async () => expect(await notes()).toEqual([['Ann Author wrote in “News”', 2]]));
    await ben.post(`${IM}/${id}/read`, {});
    await eventually(async () => expect(await notes()).toEqual([]));
  });

  test('lose the conversations of a workspace with the response that removes them, and their memberships soon after', async () => {
    const { data: place } = await ann.post<Workspace>('/workspaces', { name: 'Short', org_id: org.id });
    const added = { user_id: ben.user.id, role: 'editor' };
    const { data: member } = await ann.post<{ id: string }>(`/workspaces/${place.id}/members`, added);
    const { data } = await ben.post<Conversation>(IM, {
      ...{ type: 'group', workspace_id: place.id, member_ids: [ann.user.id] },
    });
    await send(ben, data.id, { text: 'Hello' });
    await ann.del(`/workspaces/${place.id}/members/${member.id}`);
    expect((await ben.get(`${IM}/${data.id}`)).status).toBe(404);
    expect((await send(ben, data.id, { text: 'Hello?' })).status).toBe(404);
    await eventually(async () => {
      const { members: left } = (await ann.get<Conversation>(`${IM}/${data.id}?include=members`)).data;
      expect(left?.map(({ principal, role }) => [principal.name, role])).toEqual([['Ann Author', 'owner']]);
    });
  });
});

test('people who may join a channel see that it exists, and no message before they have joined', async () => {
  const { id } = (await create(ann, { type: 'channel', name: 'Open' })).data;
  await send(ann, id, { text: 'Hello' });
  expect((await ben.get<Conversation>(`${IM}/${id}`)).data).toMatchObject({ is_member: false, last_message: null });
  const refused = [
    await history(ben, id),
    await send(ben, id, { text: 'Hello' }),
    await ben.post(`${IM}/${id}/read`, {}),
    await ben.patch(`${IM}/${id}/settings`, { is_muted: true }),
    await ben.patch(`${IM}/${id}`, { name: 'Mine' }),
    await ben.del(`${IM}/${id}`),
  ];
  for (const { status, error } of refused) expect([status, error.code]).toEqual([403, 'insufficient_role']);
  await ben.post(`${IM}/${id}/members`, { user_id: ben.user.id });
  const [message] = (await history(ben, id)).data.items;
  expect(message).toMatchObject({ text: 'Hello', reply_to_id: null, client_message_id: null, edited_at: null });
  expect(message).not.toHaveProperty('deleted_at');
  const { body } = await history(ben, id, '?after_seq=1');
  expect(body.page).toMatchObject({ first_seq: null, last_seq: null, has_more_before: true, has_more_after: false });
});

describe('a member of the Org', () => {
  /** Adds a person to the Org and its workspace, with messages to Ann in a group and directly. */
  async function join(name: string) {
    const email = newAddress(name);
    const { data: member } = await ann.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
    const person = await signUp(system, name, { email, invitation: tokenOf(member.invite_url) });
    await ann.post(`/workspaces/${workspace.id}/members`, { user_id: person.user.id, role: 'viewer' });
    const member_ids = [person.user.id];
    const { id } = await group({ member_ids });
    const direct = (await create(ann, { type: 'direct', member_ids })).data.id;
    for (const one of [id, direct]) await send(ann, one, { text: 'Before' });
    return { person, id, direct, path: `/orgs/${org.id}/members/${member.id}` };
  }
  const unread = async (by: Api, ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await read(by, id)).unread_count));

  test('who is suspended has no access, and gets the messages sent meanwhile after returning', async () => {
    const { person, id, direct, path } = await join('Suspended');
    expect((await ann.patch(path, { status: 'suspended' })).status).toBe(200);
    await eventually(async () => {
      expect((await person.get(`${IM}/${id}`)).status).toBe(404);
      expect((await person.get(`${IM}/${direct}`)).status).toBe(404);
    });
    expect((await send(person, id, { text: 'Let me in' })).status).toBe(404);
    expect((await send(ann, id, { text: 'Meanwhile' })).status).toBe(201);
    await eventually(async () => expect((await send(ann, direct, { text: 'You?' })).status).toBe(409));
    await ann.patch(path, { status: 'active' });
    await eventually(async () => expect(await unread(person, [id, direct])).toEqual([2, 1]));
    expect((await send(person, id, { text: 'Back' })).status).toBe(201);
  });

  test.each([
    ['who leaves', (person: Person) => person],
    ['whom an administrator removes', () => ann],
  ])('%s keeps no conversation, and their messages are kept', async (_, byWhom) => {
    const { person, id, direct, path } = await join('Leaver');
    await send(person, id, { text: 'Mine' });
    await send(person, direct, { text: 'Yours' });
    expect((await byWhom(person).del(path)).status).toBe(200);
    await eventually(async () => {
      for (const one of [id, direct]) expect((await person.get(`${IM}/${one}`)).status).toBe(404);
    });
    await eventually(async () => {
      const { members } = (await ann.get<Conversation>(`${IM}/${id}?include=members`)).data;
      expect(members?.map(({ principal }) => principal.name)).toEqual(['Ann Author']);
    });
    for (const [one, text] of [[id, 'Mine'] as const, [direct, 'Yours'] as const]) {
      const [last] = (await history(ann, one)).data.items;
      expect(last).toMatchObject({ text, author: { name: 'Leaver' } });
    }
    await eventually(async () => {
      const { status, body } = await send(ann, direct, { text: 'Are you there?' });
      expect([status, body.error?.code]).toEqual([409, 'member_unavailable']);
    });
    expect((await send(ann, id, { text: 'To whom it may concern' })).status).toBe(201);
  });
});

test('a key limited to a workspace reaches only its conversations', async () => {
  const { data: other } = await ann.post<Workspace>('/workspaces', { name: 'Other', org_id: org.id });
  const inside = await group();
  const outside = await group({ workspace_id: other.id, member_ids: [] });
  const made = await newKey(ann, ['im:read', 'im:write'], { org_id: org.id, workspace_ids: [workspace.id] });
  const key = api(system, made.key);
  await send(ben, inside.id, { text: 'Hello' });
  expect((await key.get(`${IM}/${inside.id}`)).status).toBe(200);
  expect((await key.get(`${IM}/${outside.id}`)).error.code).toBe('tenant_boundary');
  const ids = (await key.get<List<Conversation>>(`${IM}?limit=200`)).data.items.map((one) => one.id);
  expect([ids.includes(inside.id), ids.includes(outside.id)]).toEqual([true, false]);
  expect((await send(key, inside.id, { text: 'By a key' })).data.seq).toBe(2);
  expect((await read(ann, inside.id)).unread_count).toBe(1);
});

test('concurrent writers get the numbers from 1 on, each once', async () => {
  const writers = 50;
  // Each message is a commit of its own, and fewer of them fit into a second where every write is called for over a network.
  const each = system.mode === 'mesh' ? 8 : 40;
  const { id } = await group();
  const made = await newKey(ann, ['im:write'], { org_id: org.id });
  const key = api(system, made.key);
  const seqs = await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const mine: number[] = [];
      for (let at = 0; at < each; ) {
        const sent = await send(key, id, { text: `${writer}: ${at}`, client_message_id: `${writer}-${at}` });
        // After too many lost races the response is 503, and the same message is sent again.
        if (sent.status === 503) continue;
        mine.push(sent.data.seq);
        at++;
      }
      return mine;
    }),
  );
  const all = Array.from({ length: writers * each }, (_, at) => at + 1);
  expect(seqs.flat().sort((a, b) => a - b)).toEqual(all);
  for (const mine of seqs) expect(mine).toEqual([...mine].sort((a, b) => a - b));
  expect((await read(ben, id)).unread_count).toBe(writers * each);
  const found: number[] = [];
  while (found.length < writers * each) {
    const page = await history(ben, id, `?limit=200&after_seq=${found.at(-1) ?? 0}`);
    found.push(...page.data.items.map(({ seq }) => seq));
  }
  expect(found).toEqual(all);
}, 400_000);
