import type { Caller } from '@commonplace/kit/auth';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import type { Log } from '@commonplace/kit/log';
import type { Store } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { GetContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import { CopyResourceRequest } from '@commonplace/proto/resources/v1/copy_service.js';
import { AccessMode, type Resource, ResourceRole, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OnConflict, ResourceInclude } from '@commonplace/proto/resources/v1/resource_service.js';
import { ReadTreeRequest } from '@commonplace/proto/resources/v1/tree_export_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createBreakGlass, type Opened } from '../src/break-glass.js';
import { openSharingStage, type SharingStage } from './sharing-stage.js';
import type { PlayedTenancy, PlayedWorkspace } from './tenancy.js';

let s: SharingStage;
let org: ReturnType<PlayedTenancy['org']>;
let workspace: PlayedWorkspace;
/** Restricts a folder, and so has a grant on it. */
let author: Caller;
let admin: Caller;
let restricted: Resource;
let below: Resource;

beforeAll(async () => {
  s = await openSharingStage();
});
afterAll(() => s.stage.close());

beforeEach(async () => {
  org = s.tenancy.org();
  workspace = s.tenancy.workspace(org);
  author = member('Author', WorkspaceRole.EDITOR);
  admin = member('Admin', WorkspaceRole.ADMIN);
  restricted = await s.create(author, { workspaceId: workspace.id, accessMode: AccessMode.RESTRICTED });
  below = await document(restricted.id);
});

function member(name: string, role: WorkspaceRole): Caller {
  const person = s.tenancy.person(`${name}${newId().slice(-6)}`);
  org.roles.set(person.userId, OrgRole.MEMBER);
  workspace.roles.set(person.userId, role);
  return person;
}

const document = (parentId: string, accessMode?: AccessMode) =>
  s.create(author, { parentId, type: ResourceType.DOCUMENT, name: 'Salaries', ...(accessMode && { accessMode }) });

/** Returns the events about accesses in this test's workspace, once all earlier events have arrived. */
async function accesses(): Promise<DomainEvent[]> {
  await new Promise(setImmediate);
  const last = await s.create(author, { workspaceId: workspace.id });
  await eventually(() => expect(s.events.some(({ data }) => resourceIds(data).includes(last.id))).toBe(true));
  return s.events.filter(
    ({ type, data }) => type.endsWith('.restricted_resource.accessed') && data.workspaceId === workspace.id,
  );
}
const resourceIds = ({ resourceIds = [] }: DomainEvent['data']) => resourceIds as readonly string[];
const opened = async () => (await accesses()).map(({ subject }) => subject);

test('an administrator without a grant opens a restricted resource: one event, whatever they do with it', async () => {
  await s.get(admin, below.id);
  await s.get(admin, below.id);
  await s.update(admin, below.id, { name: 'Wages', updateMask: ['name'] });
  const content = GetContentRequest.fromPartial({ resourceId: below.id, page: { limit: 1, offset: 0, cursor: '' } });
  await s.stage.host.client(contracts.content).getContent(content, await s.stage.as(admin));
  const events = await accesses();
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({
    type: 'commonplace.resources.restricted_resource.accessed',
    subject: below.id,
    tenant: org.id,
    actor: { type: 'user', id: admin.userId },
    credential: { type: 'session', id: admin.credential.id },
    data: { resourceId: below.id, workspaceId: workspace.id, restrictedBy: restricted.id, userId: admin.userId },
  });
});

test('an owner is recorded as an administrator is, and each resource and person by itself', async () => {
  const owner = member('Owner', WorkspaceRole.OWNER);
  await s.get(owner, below.id);
  await s.get(owner, restricted.id);
  await s.get(admin, below.id);
  expect((await accesses()).map(({ actor, subject }) => [actor?.id, subject])).toEqual([
    [owner.userId, below.id],
    [owner.userId, restricted.id],
    [admin.userId, below.id],
  ]);
});

test('a change without a read is recorded: creating below, deleting, and updating by external id', async () => {
  const other = await document(restricted.id);
  await s.create(admin, { parentId: restricted.id });
  await s.resources.deleteResource({ resourceId: other.id }, await s.stage.as(admin));
  const named = { workspaceId: workspace.id, externalId: newId() };
  const hidden = await s.create(author, { ...named, accessMode: AccessMode.RESTRICTED });
  await s.create(admin, { ...named, onConflict: OnConflict.UPDATE });
  expect(await opened()).toEqual([restricted.id, other.id, hidden.id]);
});

describe('is not recorded', () => {
  test('for people with a grant of any role, on the resource or between it and the restriction', async () => {
    const owner = member('Owner', WorkspaceRole.OWNER);
    await s.grant(author, restricted.id, { principalId: admin.userId, role: ResourceRole.VIEWER });
    await s.grant(author, below.id, { principalId: owner.userId, role: ResourceRole.MANAGER });
    for (const person of [author, admin, owner]) await s.get(person, below.id);
    expect(await opened()).toEqual([]);
  });

  test('for an administrator who has restricted it, or created it so', async () => {
    const open = await s.create(author, { workspaceId: workspace.id });
    await s.grant(admin, open.id, { accessMode: AccessMode.RESTRICTED });
    const own = await s.create(admin, { workspaceId: workspace.id, accessMode: AccessMode.RESTRICTED });
    await s.get(admin, open.id);
    await s.get(admin, own.id);
    expect(await opened()).toEqual([]);
  });

  test('for a resource that is not restricted, and for an editor, for whom a restricted one does not exist', async () => {
    const open = await s.create(author, { workspaceId: workspace.id });
    await s.get(admin, open.id);
    const editor = member('Editor', WorkspaceRole.EDITOR);
    await expect(s.get(editor, below.id)).rejects.toMatchObject({ reason: 'not_found' });
    expect(await opened()).toEqual([]);
  });

  test('for lists that show its name', async () => {
    expect((await s.list(admin, workspace.id)).ids).toContain(below.id);
    await s.filter(admin, [workspace.id]);
    expect(await opened()).toEqual([]);
  });

  test('while a grant is valid, but after it has expired', async () => {
    const expiresAt = new Date(Date.now() + 1_000).toISOString();
    await s.grant(author, below.id, { principalId: admin.userId, role: ResourceRole.VIEWER, expiresAt });
    await s.get(admin, below.id);
    expect(await opened()).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await s.get(admin, below.id);
    expect(await opened()).toEqual([below.id]);
  });
});

describe('what reads many resources is recorded by the ones that restrict them', () => {
  test('a list with contents', async () => {
    await document(restricted.id);
    await s.list(admin, workspace.id, { include: [ResourceInclude.CONTENT] });
    expect(await opened()).toEqual([restricted.id]);
  });

  test('a copy of what is above', async () => {
    const top = await s.create(author, { workspaceId: workspace.id });
    const inner = await document(top.id, AccessMode.RESTRICTED);
    await s.copies.copyResource(CopyResourceRequest.fromPartial({ resourceId: top.id }), await s.stage.as(admin));
    expect(await opened()).toEqual([inner.id]);
  });

  test('an export', async () => {
    const request = ReadTreeRequest.fromPartial({ workspaceId: workspace.id, format: 'native', maxBytes: 1_000_000 });
    const exporting = s.stage.host.client(contracts.treeExports).readTree(request, await s.stage.as(admin));
    for await (const piece of exporting) expect(piece).toBeDefined();
    expect(await opened()).toEqual([restricted.id]);
  });
});

describe('once a period', () => {
  const node: Opened = { id: 'leaf', workspaceId: 'w', tenant: 'o', boundary: 'top' };
  let time = Date.parse('2026-01-02T10:20:00Z');
  let commit: () => Promise<void>;
  let published: DomainEvent[];
  const warnings: string[] = [];
  const breakGlass = createBreakGlass({
    store: {
      begin: () => ({ publish: (event: DomainEvent) => published.push(event), commit: () => commit() }),
    } as unknown as Store,
    log: { warn: (name: string) => warnings.push(name) } as unknown as Log,
    settings: { auditRestrictedMinutes: 30 },
    now: () => time,
  });
  const call = {
    event: (type: string, subject: string, data: object) => ({ type, subject, data }) as unknown as DomainEvent,
  };
  const note = (userId: string, one: Opened = node) => breakGlass.note([one, one], { caller: { userId }, call });

  beforeEach(() => {
    published = [];
    commit = async () => {};
  });

  test('an access is published again in the next period, which its data names', () => {
    note('me');
    time += 9 * 60_000;
    note('me');
    note('you');
    time += 60_000;
    note('me');
    expect(published.map(({ data }) => [data.userId, data.period])).toEqual([
      ['me', '2026-01-02T10:00:00.000Z'],
      ['you', '2026-01-02T10:00:00.000Z'],
      ['me', '2026-01-02T10:30:00.000Z'],
    ]);
  });

  test('an access whose event is not stored is logged, and published with the next request', async () => {
    commit = () => Promise.reject(new Error('disk full'));
    note('they');
    await breakGlass.close();
    expect(warnings).toEqual(['audit.not_published']);
    note('they');
    expect(published).toHaveLength(2);
    await breakGlass.close();
  });

  test('nothing is published for people who do not call themselves', () => {
    breakGlass.note([node], { caller: { userId: 'other' }, call: undefined });
    expect(published).toEqual([]);
  });
});
