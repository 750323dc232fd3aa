import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '@commonplace/kit/auth';
import { createEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { inWork } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { type Memory, MemoryScope, MemoryStatus } from '@commonplace/proto/agents/v1/memory.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type MemoryStage, openMemoryStage } from './memories-stage.js';

let stage: MemoryStage;
let boss: Caller;
let editor: Caller;
let viewer: Caller;
let guest: Caller;

beforeAll(async () => {
  process.env.COMMONPLACE_MEMORIES = '60';
  stage = await openMemoryStage();
  boss = stage.person('Boss', WorkspaceRole.OWNER, OrgRole.OWNER);
  editor = stage.person('Editor', WorkspaceRole.EDITOR);
  viewer = stage.person('Viewer', WorkspaceRole.VIEWER);
  guest = stage.person('Guest', WorkspaceRole.GUEST, OrgRole.GUEST);
}, 60_000);
afterAll(async () => {
  delete process.env.COMMONPLACE_MEMORIES;
  await stage?.stage.close();
});

const reasonOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return 'done';
  } catch (error) {
    return (error as { reason: string }).reason;
  }
};
const word = () => `w${newId().replaceAll('-', '')}`;
const inWorkspace = () => ({ scope: MemoryScope.WORKSPACE, workspaceId: stage.workspaceId });
const inOrg = () => ({ scope: MemoryScope.ORG, orgId: stage.orgId });
const idsIn = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id);

describe('access to memories', () => {
  test('of a person is theirs only', async () => {
    const { id } = await stage.create(viewer, { content: word() });
    expect(await reasonOf(stage.get(viewer, id))).toBe('done');
    for (const other of [boss, editor, guest]) {
      expect(await reasonOf(stage.get(other, id))).toBe('not_found');
      expect(await reasonOf(stage.update(other, id, { isPinned: true }))).toBe('not_found');
      expect(await reasonOf(stage.remove(other, id))).toBe('not_found');
      expect(idsIn(await stage.list(other))).not.toContain(id);
    }
    expect(idsIn(await stage.list(viewer))).toContain(id);
    expect(await reasonOf(stage.update(viewer, id, { isPinned: true }))).toBe('done');
    expect(await reasonOf(stage.remove(viewer, id))).toBe('done');
    expect(await reasonOf(stage.get(viewer, id))).toBe('not_found');
  });

  test('of a workspace: viewers read, editors write, creators and administrators change', async () => {
    const { id } = await stage.create(editor, { content: word(), ...inWorkspace() });
    expect(await reasonOf(stage.create(viewer, { content: word(), ...inWorkspace() }))).toBe('insufficient_role');
    expect(await reasonOf(stage.create(guest, { content: word(), ...inWorkspace() }))).toBe('insufficient_role');
    expect(await stage.get(viewer, id)).toMatchObject({ isReadOnly: true, workspaceId: stage.workspaceId });
    expect(await stage.get(editor, id)).toMatchObject({ isReadOnly: false });
    expect(await reasonOf(stage.get(guest, id))).toBe('not_found');
    expect(idsIn(await stage.list(guest))).not.toContain(id);
    const other = stage.person('Other', WorkspaceRole.EDITOR);
    for (const one of [viewer, other]) {
      expect(await reasonOf(stage.update(one, id, { isPinned: true }))).toBe('insufficient_role');
      expect(await reasonOf(stage.remove(one, id))).toBe('insufficient_role');
    }
    expect(await reasonOf(stage.update(editor, id, { isPinned: true }))).toBe('done');
    expect(await reasonOf(stage.update(boss, id, { isPinned: false }))).toBe('done');
    stage.archive(true);
    // Memberships are cached for two seconds.
    await eventually(async () => {
      expect(await reasonOf(stage.update(boss, id, { isPinned: true }))).toBe('workspace_archived');
      expect(await reasonOf(stage.create(boss, inWorkspace()))).toBe('workspace_archived');
      expect(await reasonOf(stage.remove(boss, id))).toBe('workspace_archived');
    });
    expect(await stage.get(boss, id)).toMatchObject({ isReadOnly: true });
    expect((await stage.list(boss)).items.find((one) => one.id === id)).toMatchObject({ isReadOnly: true });
    stage.archive(false);
    await eventually(async () => expect(await reasonOf(stage.update(boss, id, { isPinned: true }))).toBe('done'));
    expect(await reasonOf(stage.remove(boss, id))).toBe('done');
  });

  test('of an Org: members read, administrators write', async () => {
    const { id } = await stage.create(boss, { content: word(), ...inOrg() });
    expect(await reasonOf(stage.create(editor, { content: word(), ...inOrg() }))).toBe('insufficient_role');
    expect(await stage.get(viewer, id)).toMatchObject({ isReadOnly: true, orgId: stage.orgId });
    expect(await reasonOf(stage.get(guest, id))).toBe('not_found');
    expect(await reasonOf(stage.update(viewer, id, { isPinned: true }))).toBe('insufficient_role');
    const stranger = stage.person('Stranger', undefined, OrgRole.UNSPECIFIED);
    expect(await reasonOf(stage.get(stranger, id))).toBe('not_found');
    expect(await reasonOf(stage.create(stranger, { content: word(), ...inOrg() }))).toBe('not_found');
  });

  test('of an agent belongs to its owner, and others see the memories about themselves', async () => {
    const agent = await stage.agent(editor);
    const all = await stage.createOf(editor, { agentId: agent.id, content: word() });
    const about = await stage.createOf(editor, { agentId: agent.id, content: word(), subjectUserId: viewer.userId });
    expect(await reasonOf(stage.createOf(viewer, { agentId: agent.id }))).toBe('insufficient_role');
    expect(await reasonOf(stage.createOf(guest, { agentId: agent.id }))).toBe('not_found');
    expect(idsIn(await stage.listOf(editor, agent.id))).toEqual([about.id, all.id]);
    expect(idsIn(await stage.listOf(viewer, agent.id))).toEqual([about.id]);
    expect(idsIn(await stage.list(viewer))).toContain(about.id);
    expect(await reasonOf(stage.listOf(guest, agent.id))).toBe('not_found');
    // The owner wrote it, not the agent, so that the subject may only delete it.
    expect(await reasonOf(stage.update(viewer, about.id, { isActive: false }))).toBe('insufficient_role');
    expect(await reasonOf(stage.get(viewer, all.id))).toBe('not_found');
    expect(await reasonOf(stage.removeOf(viewer, agent.id, { memoryId: all.id }))).toBe('not_found');
    expect(await reasonOf(stage.removeOf(viewer, agent.id, { all: true }))).toBe('insufficient_role');
    expect(await reasonOf(stage.removeOf(viewer, agent.id, { subjectUserId: editor.userId }))).toBe(
      'insufficient_role',
    );
    expect(await stage.removeOf(viewer, agent.id, { ids: [all.id, about.id] })).toEqual({ deletedCount: 1 });
    expect(await stage.removeOf(editor, agent.id, { all: true })).toEqual({ deletedCount: 1 });
  });

  test('of an agent belong to its owner, however many agents they own', async () => {
    const owner = stage.person('Breeder', WorkspaceRole.EDITOR);
    const ids = Array.from({ length: 1001 }, () => newId()).sort();
    for (const id of ids) await stage.agent(owner, { id });
    const last = ids.at(-1) as string;
    const { id: memoryId } = await stage.createOf(owner, { agentId: last });
    expect((await stage.get(owner, memoryId)).agentId).toBe(last);
    expect((await stage.list(owner)).items.map(({ id }) => id)).toContain(memoryId);
  });

  test('of an agent are deleted by one selector, as two may mean different ones', async () => {
    const agent = await stage.agent(editor);
    const { id } = await stage.createOf(editor, { agentId: agent.id, content: word() });
    const selectors = [{ memoryId: id }, { ids: [id] }, { subjectUserId: viewer.userId }, { all: true }];
    const pairs = selectors.flatMap((one, i) => selectors.slice(i + 1).map((other) => ({ ...one, ...other })));
    for (const pair of pairs) {
      expect([pair, await reasonOf(stage.removeOf(editor, agent.id, pair))]).toEqual([pair, 'ambiguous_target']);
    }
    expect(idsIn(await stage.listOf(editor, agent.id))).toEqual([id]);
  });

  test('of an agent are about people of its Org, or about people who may use a Personal agent', async () => {
    const stranger = stage.person('Stranger', undefined, OrgRole.UNSPECIFIED);
    const personal = {
      orgId: '',
      tenant: stage.workspaceId,
      workspaceIds: [],
      places: [],
      visibility: 'private',
    } as const;
    const unknown = { reason: 'not_found', param: 'subject_user_id' };
    for (const agent of [await stage.agent(editor), await stage.agent(editor, personal)]) {
      const create = (subjectUserId?: string) =>
        stage.createOf(editor, { agentId: agent.id, content: word(), ...(subjectUserId && { subjectUserId }) });
      await expect(create(stranger.userId)).rejects.toMatchObject(unknown);
      await expect(create(newId())).rejects.toMatchObject(unknown);
      const { id } = await create(editor.userId);
      await expect(stage.update(editor, id, { subjectUserId: stranger.userId })).rejects.toMatchObject(unknown);
      expect(await reasonOf(stage.update(editor, id, { subjectUserId: undefined }))).toBe('done');
    }
    expect((await stage.list(stranger)).items).toEqual([]);
  });

  test('have a text', async () => {
    const empty = { reason: 'invalid_value', param: 'content' };
    await expect(stage.create(editor, { content: ' \n\t' })).rejects.toMatchObject(empty);
    const { id } = await stage.create(editor, { content: word() });
    await expect(stage.update(editor, id, { content: ' ' })).rejects.toMatchObject(empty);
  });

  test('have metadata up to the limit', async () => {
    const metadata = (length: number) => Buffer.from(JSON.stringify({ a: 'x'.repeat(length - '{"a":""}'.length) }));
    const { id } = await stage.create(editor, { content: word(), metadata: metadata(16_384) });
    const tooLarge = { reason: 'invalid_value', param: 'metadata' };
    await expect(stage.create(editor, { content: word(), metadata: metadata(16_385) })).rejects.toMatchObject(tooLarge);
    await expect(stage.update(editor, id, { metadata: metadata(16_385) })).rejects.toMatchObject(tooLarge);
  });

  test('can be sent as they were read, without a subject', async () => {
    const { id } = await stage.create(editor, { content: word() });
    const mask = ['content', 'subject_user_id'];
    const content = word();
    expect((await stage.update(editor, id, { content, updateMask: mask })).content).toBe(content);
  });

  test('of a limited key covers its workspaces, and an Org key reaches nothing Personal', async () => {
    const own = await stage.create(editor, { content: word() });
    const shared = await stage.create(editor, { content: word(), ...inWorkspace() });
    const key = { ...editor, tenant: { orgId: stage.orgId } };
    const limited = { ...key, credential: { ...editor.credential, workspaceIds: [stage.workspaceId] } };
    const elsewhere = { ...key, credential: { ...editor.credential, workspaceIds: [newId()] } };
    expect(await reasonOf(stage.get(key, own.id))).toBe('tenant_boundary');
    expect(await reasonOf(stage.get(limited, own.id))).toBe('tenant_boundary');
    expect(await reasonOf(stage.get(elsewhere, shared.id))).toBe('tenant_boundary');
    expect(await reasonOf(stage.create(limited, { content: word() }))).toBe('tenant_boundary');
    expect(await reasonOf(stage.get(limited, shared.id))).toBe('done');
    expect(idsIn(await stage.list(limited))).toContain(shared.id);
    expect(idsIn(await stage.list(limited))).not.toContain(own.id);
    expect(idsIn(await stage.list(elsewhere))).not.toContain(shared.id);
    expect(idsIn(await stage.list(key))).not.toContain(own.id);
    const here = { ...editor, workspaceId: stage.workspaceId };
    expect(idsIn(await stage.list(here))).toContain(shared.id);
    expect(idsIn(await stage.list(here))).not.toContain(own.id);
    await stage.remove(editor, own.id);
    await stage.remove(editor, shared.id);
  });
});

describe('a memory', () => {
  test('with the same normalized text is the existing one', async () => {
    const text = word();
    const first = await stage.create(viewer, { content: `Ship on ${text}` });
    const reply = {};
    const again = await stage.create(viewer, { content: `  SHIP  on\n${text}. ` }, reply);
    expect([again.id, reply]).toEqual([first.id, { status: 200 }]);
    // Another person has a separate memory with this text.
    expect((await stage.create(editor, { content: `Ship on ${text}` })).id).not.toBe(first.id);
  });

  test('is created once by concurrent requests', async () => {
    const content = word();
    const made = await Promise.all(
      Array.from({ length: 8 }, () => stage.create(editor, { content, ...inWorkspace() })),
    );
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(await stage.memories.count({ id: made[0]?.id as string })).toBe(1);
    await stage.remove(editor, made[0]?.id as string);
  });

  test('keeps its last 20 texts, and refuses a change of another version', async () => {
    const { id, version } = await stage.create(viewer, { content: 'Text 0' });
    for (let i = 1; i <= 22; i++) await stage.update(viewer, id, { content: `Text ${i}` });
    const memory = await stage.get(viewer, id);
    expect([memory.content, memory.revisions.length]).toEqual(['Text 22', 20]);
    expect(memory.revisions.map(({ content }) => content)).toEqual(
      Array.from({ length: 20 }, (_, i) => `Text ${i + 2}`),
    );
    await expect(stage.update(viewer, id, { content: 'Other' }, version)).rejects.toMatchObject({
      reason: 'version_conflict',
      details: { current_version: memory.version, updated_by: { type: 'user', id: viewer.userId } },
    });
    expect(await reasonOf(stage.update(viewer, id, { isPinned: true }, memory.version))).toBe('done');
    expect((await stage.list(viewer)).items.every(({ revisions }) => revisions.length === 0)).toBe(true);
    await stage.create(viewer, { content: 'Another text' });
    expect(await reasonOf(stage.update(viewer, id, { content: 'another TEXT' }))).toBe('already_exists');
    await stage.remove(viewer, id);
  });

  test('that has expired is gone, and its text can be used again', async () => {
    const content = word();
    const before = new Date(Date.now() - 1000).toISOString();
    expect(await reasonOf(stage.create(viewer, { content, expiresAt: before }))).toBe('invalid_value');
    const { id } = await stage.create(viewer, { content, expiresAt: new Date(Date.now() + 60_000).toISOString() });
    await inWork(stage.stage.own.store, async (work) => {
      const memory = await work.get(stage.memories, id);
      if (memory !== undefined) work.replace(stage.memories, memory, { ...memory, expiresAt: before });
    });
    expect(await reasonOf(stage.get(viewer, id))).toBe('not_found');
    expect(idsIn(await stage.list(viewer))).not.toContain(id);
    expect((await stage.create(viewer, { content })).id).not.toBe(id);
  });

  test('beyond the limit is refused until others are deleted', async () => {
    const person = stage.person('Collector', WorkspaceRole.VIEWER);
    const made = [];
    for (let i = 0; i < 60; i++) made.push(await stage.create(person, { content: `Fact ${i}` }));
    const one = stage.create(person, { content: 'One more' });
    await expect(one).rejects.toMatchObject({ reason: 'limit_reached' });
    await stage.remove(person, made[0]?.id as string);
    expect(await reasonOf(stage.create(person, { content: 'One more' }))).toBe('done');
    // Memories of the workspace have a limit of their own.
    expect(await reasonOf(stage.create(editor, { content: word(), ...inWorkspace() }))).toBe('done');
  });

  test('names what it belongs to', async () => {
    const wrong = { content: word(), workspaceId: stage.workspaceId };
    expect(await reasonOf(stage.create(editor, wrong))).toBe('ambiguous_target');
    expect(await reasonOf(stage.create(boss, { content: word(), scope: MemoryScope.ORG }))).toBe('missing_field');
    expect(await reasonOf(stage.update(boss, (await stage.create(boss, { content: word() })).id, {}))).toBe(
      'no_update_field',
    );
  });
});

describe('a list', () => {
  test('has pinned ones first, then the newest, page by page', async () => {
    const person = stage.person('Lister', WorkspaceRole.VIEWER);
    const made: string[] = [];
    for (let i = 0; i < 5; i++) {
      made.push((await stage.create(person, { content: `Note ${i}`, isPinned: i === 1 || i === 3 })).id);
    }
    const expected = [3, 1, 4, 2, 0].map((i) => made[i]);
    const request = { scope: MemoryScope.USER };
    expect(idsIn(await stage.list(person, request))).toEqual(expected);
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { items, page } = await stage.list(person, { ...request, page: { limit: 2, offset: 0, cursor } });
      seen.push(...items.map(({ id }) => id));
      expect(page?.total).toBe(5);
      if (!page?.nextCursor) break;
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(expected);
  });

  test('is sorted by time on request, and limited by creator and times', async () => {
    const [writer, admin] = [
      stage.person('Chronicler', WorkspaceRole.EDITOR),
      stage.person('Keeper', WorkspaceRole.ADMIN),
    ];
    const place = { scope: MemoryScope.WORKSPACE, workspaceId: stage.workspaceId };
    const tags = ['chronicle'];
    const made: Memory[] = [];
    for (const [i, by] of [writer, admin, writer].entries()) {
      made.push(await stage.create(by, { ...place, content: `Chapter ${i}`, tags, isPinned: i === 0 }));
      await sleep(5);
    }
    const [first, , third] = made;
    await stage.update(writer, first?.id ?? '', { importance: 1 });
    const ids = async (more: object) =>
      idsIn(await stage.list(admin, { ...place, tag: 'chronicle', ...more })).map((id) =>
        made.findIndex((one) => one.id === id),
      );
    expect(await ids({})).toEqual([0, 2, 1]);
    expect(await ids({ sort: 'created_at' })).toEqual([0, 1, 2]);
    expect(await ids({ sort: '-created_at' })).toEqual([2, 1, 0]);
    expect(await ids({ sort: '-updated_at' })).toEqual([0, 2, 1]);
    expect(await ids({ createdBy: writer.userId, sort: 'created_at' })).toEqual([0, 2]);
    expect(await ids({ createdAfter: first?.createdAt, createdBefore: third?.createdAt })).toEqual([1]);
    expect(await ids({ updatedAfter: third?.updatedAt })).toEqual([0]);
    expect(await ids({ updatedBefore: third?.updatedAt })).toEqual([1]);
  });

  test('searches for members of thousands of workspaces', async () => {
    const busy = stage.person('Busy', WorkspaceRole.VIEWER);
    stage.join(busy, 2000);
    await stage.create(editor, { content: 'The invoice is monthly.', ...inWorkspace() });
    await stage.create(busy, { content: 'Own invoice.' });
    const found = async (q: string) => (await stage.list(busy, { q })).items.map(({ content }) => content);
    expect(await found('invoice')).toEqual(['Own invoice.', 'The invoice is monthly.']);
    expect(await found('monthly invoice')).toEqual(['The invoice is monthly.']);
    expect(await found('yearly invoice')).toEqual([]);
  });

  test('finds words in any form, and parts of texts without spaces', async () => {
    const person = stage.person('Finder', WorkspaceRole.VIEWER);
    const ships = await stage.create(person, { content: 'We shipped three parcels to Münster', tags: ['post'] });
    const tokyo = await stage.create(person, { content: '東京都に住んでいます' });
    const found = async (q: string, more = {}) => idsIn(await stage.list(person, { q, ...more }));
    expect(await found('shipping parcel')).toEqual([ships.id]);
    expect(await found('munster')).toEqual([ships.id]);
    expect(await found('shipping bananas')).toEqual([]);
    expect(await found('京都')).toEqual([tokyo.id]);
    expect(await found('住')).toEqual([tokyo.id]);
    expect(await found('大阪')).toEqual([]);
    expect(await found('?!')).toEqual([]);
    expect(await found('', { tag: 'post' })).toEqual([ships.id]);
    expect(await found('', { status: MemoryStatus.PROPOSED })).toEqual([]);
  });
});

describe('sources', () => {
  test('must be readable when they are named', async () => {
    const source = newId();
    const draft = { content: word(), ...inWorkspace(), sourceResourceIds: [source] };
    await expect(stage.create(editor, draft)).rejects.toMatchObject({ reason: 'not_found' });
    stage.allow(editor, source);
    expect(await stage.create(editor, draft)).toMatchObject({ sourceResourceIds: [source], withheld: false });
  });

  test('that a reader cannot read hide the text, also from searches, and prevent changes', async () => {
    const other = stage.person('Other', WorkspaceRole.EDITOR);
    const [source, secret] = [newId(), word()];
    for (const one of [editor, boss]) stage.allow(one, source);
    const draft = { content: `The code is ${secret}`, tags: [secret], ...inWorkspace(), sourceResourceIds: [source] };
    const { id } = await stage.create(editor, draft);
    await stage.update(editor, id, { content: `The new code is ${secret}` });
    const seen = await stage.get(viewer, id);
    expect(seen).toMatchObject({ withheld: true, content: '', tags: [], revisions: [], sourceResourceIds: [] });
    expect(JSON.stringify(await stage.list(viewer))).not.toContain(secret);
    expect(idsIn(await stage.list(viewer))).toContain(id);
    for (const filter of [{ q: secret }, { tag: secret }]) {
      expect(idsIn(await stage.list(viewer, filter))).toEqual([]);
      expect((await stage.list(viewer, filter)).page?.total).toBe(0);
      expect(idsIn(await stage.list(boss, filter))).toEqual([id]);
    }
    stage.forbid(boss, source);
    expect(await reasonOf(stage.update(boss, id, { sourceResourceIds: { items: [] } }))).toBe('insufficient_role');
    // The same text of somebody who cannot read the other one is a memory of its own: its existence would tell the text.
    const same = { content: `the new code is ${secret}`, ...inWorkspace() };
    const reply = {};
    const own = await stage.create(other, same, reply);
    expect([own.id === id, own.content, reply]).toEqual([false, same.content, {}]);
    expect((await stage.create(other, same)).id).toBe(own.id);
    expect((await stage.create(editor, same)).id).toBe(id);
    await stage.update(other, own.id, { content: `Perhaps ${secret}` });
    expect(await reasonOf(stage.update(other, own.id, { content: same.content }))).toBe('done');
    await stage.remove(other, own.id);
    // Earlier texts stay limited to people who can read the sources that were removed.
    await stage.update(editor, id, {
      content: `Nothing ${word()}`,
      sourceResourceIds: { items: [] },
      tags: { items: [] },
    });
    expect(JSON.stringify(await stage.get(viewer, id))).not.toContain(secret);
    expect((await stage.get(editor, id)).revisions.length).toBe(2);
    expect(await reasonOf(stage.remove(boss, id))).toBe('done');
  });
});

test('deleting a memory leaves nothing of it', async () => {
  const { id } = await stage.create(editor, { content: word(), ...inWorkspace() });
  const record = await stage.memories.get(id);
  await stage.remove(editor, id);
  expect(await stage.memories.get(id)).toBeUndefined();
  const terms = record?.terms ?? [];
  expect(terms.length).toBe(1);
  expect(await stage.memories.count({ terms: { containsAny: terms } })).toBe(0);
});

test('purging a workspace or an Org erases their memories', async () => {
  const shared = await stage.create(editor, { content: word(), ...inWorkspace() });
  const ofOrg = await stage.create(boss, { content: word(), ...inOrg() });
  const personal = await stage.create(boss, { content: word() });
  const publish = (type: string, subject: string) =>
    inWork(stage.stage.own.store, async (work) =>
      work.publish({ ...createEvent({ service: 'tenancy', type, subject, data: {}, tenant: stage.orgId }) }),
    );
  await publish('workspace.purged', stage.workspaceId);
  await eventually(async () => expect(await stage.memories.get(shared.id)).toBeUndefined());
  expect(await stage.memories.get(ofOrg.id)).toBeDefined();
  await publish('org.purged', stage.orgId);
  await eventually(async () => expect(await stage.memories.get(ofOrg.id)).toBeUndefined());
  expect(await stage.memories.get(personal.id)).toBeDefined();
});
