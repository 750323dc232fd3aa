import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { Reply } from '@commonplace/kit/rpc';
import { eventually } from '@commonplace/kit/testing';
import { AccessRequestStatus } from '@commonplace/proto/resources/v1/access_request.js';
import { CopyResourceRequest } from '@commonplace/proto/resources/v1/copy_service.js';
import { GranteeType, LinkAudience } from '@commonplace/proto/resources/v1/permission.js';
import type { PermissionView } from '@commonplace/proto/resources/v1/permission_service.js';
import { AccessMode, AccessSource, ResourceRole, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openSharingStage, type SharingStage } from './sharing-stage.js';
import type { PlayedTenancy, PlayedWorkspace } from './tenancy.js';

const { VIEWER, COMMENTER, EDITOR, MANAGER, OWNER } = ResourceRole;

let s: SharingStage;
let tenancy: PlayedTenancy;
let org: ReturnType<PlayedTenancy['org']>;
let workspace: PlayedWorkspace;
let owner: Caller;
/** A member of the Org, but not of the workspace. */
let outsider: Caller;

beforeAll(async () => {
  s = await openSharingStage();
  tenancy = s.tenancy;
});
afterAll(() => s.stage.close());

beforeEach(() => {
  org = tenancy.org();
  workspace = tenancy.workspace(org);
  owner = member('Owner', WorkspaceRole.OWNER);
  outsider = member('Outsider');
});

function member(name: string, role?: WorkspaceRole, orgRole = OrgRole.MEMBER): Caller {
  const person = tenancy.person(`${name}${newId().slice(-6)}`);
  org.roles.set(person.userId, orgRole);
  if (role !== undefined) workspace.roles.set(person.userId, role);
  return person;
}

const folder = (parentId?: string) =>
  s.create(owner, parentId === undefined ? { workspaceId: workspace.id } : { parentId });
const document = (parentId: string) => s.create(owner, { parentId, type: ResourceType.DOCUMENT, name: 'Secret plan' });
const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason?: string; message: string }) => error.reason ?? error.message,
  );
const seenBy = async (by: Caller, id: string) => (await s.get(by, id)).access;
const to = ({ userId }: Caller, role: ResourceRole) => ({ principalId: userId, role });
const restrict = (id: string) => s.grant(owner, id, { accessMode: AccessMode.RESTRICTED });
const lineOf = (view: PermissionView, { userId }: Caller) =>
  view.items.filter(({ principal }) => principal?.id === userId);

test('a position beside a sibling that the caller cannot see is answered like one beside nothing', async () => {
  const top = await folder();
  const hidden = await s.create(owner, { parentId: top.id, accessMode: AccessMode.RESTRICTED });
  const editor = member('Editor', WorkspaceRole.EDITOR);
  const { id } = await s.create(editor, { parentId: top.id });
  const asked = async (place: string, sibling: string) => {
    const position = Buffer.from(JSON.stringify({ [place]: sibling }));
    const copy = { ...CopyResourceRequest.fromPartial({ resourceId: id }), position };
    return Promise.all([
      outcome(s.create(editor, { parentId: top.id, position })),
      outcome(s.update(editor, id, { updateMask: ['position'], position })),
      outcome(s.update(editor, id, { updateMask: ['position'], position, dryRun: true })),
      outcome(s.copies.copyResource(copy, await s.stage.as(editor))),
    ]);
  };
  for (const place of ['after_id', 'before_id']) {
    expect(await asked(place, hidden.id)).toEqual(await asked(place, newId()));
    expect(await asked(place, hidden.id)).toEqual(Array(4).fill('invalid_value'));
  }
});

describe('a grant', () => {
  test('applies from the next request on, also to descendants, until it is revoked', async () => {
    const top = await folder();
    const child = await document(top.id);
    expect(await outcome(s.get(outsider, child.id))).toBe('not_found');
    const reply: Reply = {};
    const { permission, accessMode } = await s.grant(owner, top.id, to(outsider, COMMENTER), reply);
    expect([reply.status, accessMode]).toEqual([201, AccessMode.INHERIT]);
    expect(permission).toMatchObject({
      resourceId: top.id,
      principal: { type: GranteeType.USER, id: outsider.userId, name: outsider.userName, email: outsider.userEmail },
      role: COMMENTER,
      isInherited: false,
      grantedBy: { id: owner.userId },
    });
    expect(await seenBy(outsider, top.id)).toMatchObject({ role: COMMENTER, source: AccessSource.DIRECT });
    expect(await seenBy(outsider, child.id)).toMatchObject({
      role: COMMENTER,
      source: AccessSource.ANCESTOR,
      sourceResourceId: top.id,
    });
    const changed: Reply = {};
    await s.grant(owner, top.id, to(outsider, EDITOR), changed);
    expect(changed.status).toBe(200);
    expect(await seenBy(outsider, child.id)).toMatchObject({ role: EDITOR, canWrite: true });
    expect(await s.revoke(owner, top.id, { principalId: outsider.userId })).toMatchObject({ id: permission?.id });
    expect(await outcome(s.get(outsider, child.id))).toBe('not_found');
  });

  test('appears in lists, counts and the search filter of a person who is not a member', async () => {
    const top = await folder();
    const child = await document(top.id);
    await folder();
    expect(await outcome(s.list(outsider, workspace.id))).toBe('not_found');
    await s.grant(owner, child.id, to(outsider, VIEWER));
    expect(await s.list(outsider, workspace.id)).toEqual({ ids: [child.id], total: 1 });
    const filter = await s.filter(outsider, [workspace.id]);
    expect(filter).toMatchObject({ openWorkspaceIds: [], boundaryIds: [], principals: [] });
    expect(filter.granted).toEqual([{ resourceId: child.id, boundaryId: workspace.id }]);
    const inOrg = { ...outsider, tenant: { orgId: org.id } };
    expect((await s.filter(inOrg)).workspaceIds).toEqual([workspace.id]);
    expect((await s.filter(outsider)).workspaceIds).toEqual([]);
    const path = (await s.get(outsider, child.id)).path?.items;
    expect(path).toMatchObject([{ hidden: true }]);
  });

  test('can name the Org, a workspace and an agent', async () => {
    const other = tenancy.workspace(org);
    const here = member('Both', WorkspaceRole.VIEWER);
    other.roles.set(here.userId, WorkspaceRole.EDITOR);
    const top = await folder();
    await s.grant(owner, top.id, { principalType: GranteeType.ORG, role: VIEWER });
    expect(await seenBy(outsider, top.id)).toMatchObject({ role: VIEWER, source: AccessSource.ORG });
    expect(await outcome(s.grant(owner, top.id, workspaceGrant(other.id)))).toBe('not_found');
    other.roles.set(owner.userId, WorkspaceRole.GUEST);
    await s.tell('workspace.updated');
    await s.grant(owner, top.id, workspaceGrant(other.id));
    expect(await seenBy(here, top.id)).toMatchObject({ role: EDITOR, source: AccessSource.DIRECT });
    const agent = newId();
    await s.grant(owner, top.id, { principalType: GranteeType.AGENT, principalId: agent, role: EDITOR });
    const { items } = await s.view(owner, top.id, { includeInherited: false });
    expect(items.map(({ principal }) => principal?.type)).toEqual([
      GranteeType.ORG,
      GranteeType.WORKSPACE,
      GranteeType.AGENT,
    ]);
    const strange = newId();
    tenancy.strangeAgents.add(strange);
    const refused = { principalType: GranteeType.AGENT, principalId: strange, role: EDITOR };
    expect(await outcome(s.grant(owner, top.id, refused))).toBe('not_found');
  });

  const workspaceGrant = (id: string) => ({ principalType: GranteeType.WORKSPACE, principalId: id, role: EDITOR });

  test('expires, and can be created again', async () => {
    const top = await folder();
    const expiresAt = new Date(Date.now() + 3000).toISOString();
    await s.grant(owner, top.id, { ...to(outsider, EDITOR), expiresAt });
    expect(await seenBy(outsider, top.id)).toMatchObject({ role: EDITOR, expiresAt });
    await eventually(async () => expect(await outcome(s.get(outsider, top.id))).toBe('not_found'));
    expect(lineOf(await s.view(owner, top.id), outsider)).toEqual([]);
    expect(await outcome(s.list(outsider, workspace.id))).toBe('not_found');
    expect((await s.filter({ ...outsider, tenant: { orgId: org.id } })).workspaceIds).toEqual([]);
    expect(await outcome(s.revoke(owner, top.id, { principalId: outsider.userId }))).toBe('not_found');
    const reply: Reply = {};
    await s.grant(owner, top.id, to(outsider, VIEWER), reply);
    expect(reply.status).toBe(201);
    const past = { ...to(outsider, VIEWER), expiresAt: new Date(Date.now() - 1).toISOString() };
    expect(await outcome(s.grant(owner, top.id, past))).toBe('invalid_value');
  });

  test('above the caller’s own role can neither be made nor revoked', async () => {
    const top = await folder();
    const manager = member('Manager', WorkspaceRole.ADMIN);
    await s.grant(owner, top.id, to(outsider, OWNER));
    expect(await outcome(s.grant(manager, top.id, to(member('M'), OWNER)))).toBe('role_escalation');
    expect(await outcome(s.grant(manager, top.id, to(outsider, VIEWER)))).toBe('insufficient_role');
    expect(await outcome(s.revoke(manager, top.id, { principalId: outsider.userId }))).toBe('insufficient_role');
    expect(await outcome(s.grant(manager, top.id, to(member('M'), MANAGER)))).toBe('ok');
  });

  test('does not outlast the role of its maker', async () => {
    const top = await folder();
    const temporary = member('Temporary', WorkspaceRole.VIEWER);
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const later = new Date(Date.now() + 7_200_000).toISOString();
    await s.grant(owner, top.id, { ...to(temporary, MANAGER), expiresAt: soon });
    await s.grant(owner, top.id, to(member('Editor'), EDITOR));
    for (const expiresAt of [undefined, later]) {
      expect(await outcome(s.grant(temporary, top.id, { ...to(temporary, MANAGER), expiresAt }))).toBe(
        'role_escalation',
      );
      expect(await outcome(s.grant(temporary, top.id, { ...to(outsider, EDITOR), expiresAt }))).toBe('role_escalation');
    }
    expect(await outcome(s.grant(temporary, top.id, { ...to(outsider, MANAGER), expiresAt: soon }))).toBe('ok');
    // What somebody has for longer than the maker may be given again, and lowered.
    const lasting = member('Lasting');
    await s.grant(owner, top.id, to(lasting, EDITOR));
    expect(await outcome(s.grant(temporary, top.id, to(lasting, VIEWER)))).toBe('ok');
    expect(await outcome(s.grant(temporary, top.id, to(lasting, EDITOR)))).toBe('role_escalation');
    // What the maker has without end can be given without end.
    expect(await outcome(s.grant(temporary, top.id, to(outsider, VIEWER)))).toBe('ok');
    const asked = await s.ask(member('Asking'), top.id, { role: EDITOR });
    expect(await outcome(s.decide(temporary, asked.id, { status: AccessRequestStatus.APPROVED }))).toBe(
      'role_escalation',
    );
    expect(
      await outcome(s.decide(temporary, asked.id, { status: AccessRequestStatus.APPROVED, expiresAt: soon })),
    ).toBe('ok');
    await s.grant(temporary, top.id, { accessMode: AccessMode.RESTRICTED });
    expect(await seenBy(temporary, top.id)).toMatchObject({ role: MANAGER, expiresAt: soon });
    const inner = await s.create(temporary, { parentId: top.id, accessMode: AccessMode.RESTRICTED });
    expect(await seenBy(temporary, inner.id)).toMatchObject({ role: MANAGER, expiresAt: soon });
  });

  test('can be made by managers, and by editors up to their own role if the workspace allows it', async () => {
    const top = await folder();
    const editor = member('Editor', WorkspaceRole.EDITOR);
    const viewer = member('Viewer', WorkspaceRole.VIEWER);
    const grantee = member('Grantee');
    expect(await outcome(s.grant(editor, top.id, to(grantee, VIEWER)))).toBe('insufficient_role');
    workspace.editorsCanShare = true;
    await s.tell('workspace.updated');
    expect(await outcome(s.grant(editor, top.id, to(grantee, EDITOR)))).toBe('ok');
    expect(await outcome(s.grant(editor, top.id, to(grantee, MANAGER)))).toBe('role_escalation');
    await expect(s.grant(editor, top.id, to(grantee, VIEWER))).rejects.toMatchObject({
      reason: 'insufficient_role',
      details: { role: 'editor', needed: 'manager' },
    });
    expect(await outcome(s.grant(editor, top.id, { accessMode: AccessMode.RESTRICTED }))).toBe('insufficient_role');
    expect(await outcome(s.revoke(editor, top.id, { principalId: grantee.userId }))).toBe('insufficient_role');
    expect(await outcome(s.grant(viewer, top.id, to(grantee, VIEWER)))).toBe('insufficient_role');
    expect(await outcome(s.grant(tenancy.person('Stranger'), top.id, to(grantee, VIEWER)))).toBe('not_found');
  });

  test('gives no write access in an archived workspace', async () => {
    const top = await folder();
    await s.grant(owner, top.id, to(outsider, EDITOR));
    workspace.archived = true;
    await s.tell('workspace.archived');
    expect(await seenBy(outsider, top.id)).toMatchObject({ role: EDITOR, canWrite: false });
    const renamed = s.update(outsider, top.id, { updateMask: ['name'], name: 'New' });
    expect(await outcome(renamed)).toBe('workspace_archived');
  });

  test('moves with its resource to another workspace', async () => {
    const other = tenancy.workspace(org);
    other.roles.set(owner.userId, WorkspaceRole.OWNER);
    const top = await folder();
    const child = await document(top.id);
    await s.grant(owner, child.id, to(outsider, VIEWER));
    await s.update(owner, top.id, { updateMask: ['workspace_id'], workspaceId: other.id });
    expect(await seenBy(outsider, child.id)).toMatchObject({ role: VIEWER });
    expect(await s.list(outsider, other.id)).toEqual({ ids: [child.id], total: 1 });
    expect(await outcome(s.list(outsider, workspace.id))).toBe('not_found');
    await s.tell('workspace_member.removed', { ...gone(outsider), workspaceId: workspace.id });
    expect(await seenBy(outsider, child.id)).toMatchObject({ role: VIEWER });
  });
});

const gone = ({ userId }: Caller) => ({ memberId: newId(), userId, role: 'viewer', keepGrants: false });

describe('several grants at once', () => {
  test('are all made, or none', async () => {
    const top = await folder();
    const [a, b] = [member('A'), member('B')];
    const grants = (...all: object[]) => ({ grants: all as never });
    const grant = (person: Caller, role: ResourceRole) => ({
      principalType: GranteeType.USER,
      principalId: person.userId,
      role,
      audience: LinkAudience.UNSPECIFIED,
    });
    const wrong = s.grant(owner, top.id, grants(grant(a, VIEWER), { ...grant(b, VIEWER), principalId: newId() }));
    await expect(wrong).rejects.toMatchObject({ reason: 'not_found', param: 'grants[1].principal_id' });
    expect(await outcome(s.get(a, top.id))).toBe('not_found');
    const many = s.grant(
      owner,
      top.id,
      grants(grant(a, ResourceRole.UNSPECIFIED), { ...grant(b, VIEWER), audience: LinkAudience.ORG }),
    );
    await expect(many).rejects.toMatchObject({
      faults: [{ param: 'grants[0].role' }, { param: 'grants[1].audience' }],
    });
    const twice = s.grant(owner, top.id, grants(grant(a, VIEWER), grant(a, EDITOR)));
    await expect(twice).rejects.toMatchObject({ faults: [{ param: 'grants[1]' }] });
    const { items, permission } = await s.grant(owner, top.id, grants(grant(a, VIEWER), grant(b, EDITOR)));
    expect(permission).toBeUndefined();
    expect(items.map(({ role }) => role)).toEqual([VIEWER, EDITOR]);
    expect(await seenBy(b, top.id)).toMatchObject({ role: EDITOR });
  });

  test('are limited to 500 on a resource, not counting expired ones', async () => {
    const top = await folder();
    const agents = (count: number, expiresAt?: string) => ({
      grants: Array.from({ length: count }, () => ({
        principalType: GranteeType.AGENT,
        principalId: newId(),
        email: undefined,
        role: VIEWER,
        audience: LinkAudience.UNSPECIFIED,
        expiresAt,
      })),
    });
    await s.grant(owner, top.id, agents(100, new Date(Date.now() + 5000).toISOString()));
    for (let i = 0; i < 4; i++) await s.grant(owner, top.id, agents(100));
    expect(await outcome(s.grant(owner, top.id, to(outsider, VIEWER)))).toBe('limit_reached');
    await eventually(async () => expect(await outcome(s.grant(owner, top.id, to(outsider, VIEWER)))).toBe('ok'));
    expect((await s.view(owner, top.id, { includeInherited: false })).page?.total).toBe(401);
  });
});

describe('a restriction', () => {
  test('removes inherited access, and keeps its creator as a manager', async () => {
    const manager = member('Manager', WorkspaceRole.VIEWER);
    const editor = member('Editor', WorkspaceRole.EDITOR);
    const top = await folder();
    const child = await folder(top.id);
    const leaf = await document(child.id);
    await s.grant(owner, top.id, to(manager, MANAGER));
    await s.grant(owner, child.id, to(manager, VIEWER));
    const { accessMode } = await s.grant(manager, child.id, { accessMode: AccessMode.RESTRICTED });
    expect(accessMode).toBe(AccessMode.RESTRICTED);
    expect(await seenBy(manager, leaf.id)).toMatchObject({ role: MANAGER, sourceResourceId: child.id });
    expect(await outcome(s.get(editor, leaf.id))).toBe('not_found');
    expect(await seenBy(owner, leaf.id)).toMatchObject({ role: MANAGER, source: AccessSource.WORKSPACE });
    await s.grant(manager, child.id, { ...to(editor, EDITOR), accessMode: AccessMode.RESTRICTED });
    expect(await seenBy(editor, leaf.id)).toMatchObject({ role: EDITOR });
    await s.grant(manager, child.id, { accessMode: AccessMode.INHERIT });
    expect(await seenBy(owner, leaf.id)).toMatchObject({ role: OWNER });
  });

  test('keeps an owner if there was one', async () => {
    const top = await folder();
    const other = member('Other');
    await s.grant(owner, top.id, to(owner, OWNER));
    await restrict(top.id);
    expect(await seenBy(owner, top.id)).toMatchObject({ role: OWNER, source: AccessSource.DIRECT });
    expect(await outcome(s.grant(owner, top.id, to(owner, MANAGER)))).toBe('last_owner');
    const soon = new Date(Date.now() + 60_000).toISOString();
    expect(await outcome(s.grant(owner, top.id, { ...to(owner, OWNER), expiresAt: soon }))).toBe('last_owner');
    expect(await outcome(s.revoke(owner, top.id, { principalId: owner.userId }))).toBe('last_owner');
    await s.grant(owner, top.id, to(other, OWNER));
    expect(await outcome(s.revoke(owner, top.id, { principalId: owner.userId }))).toBe('ok');
    expect(await outcome(s.revoke(other, top.id, { principalId: other.userId }))).toBe('last_owner');
  });

  test.each([
    ['demote', 'demote'],
    ['revoke', 'demote'],
    ['revoke', 'revoke'],
  ] as const)('keeps one of two owners who %s and %s themselves at the same moment', async (first, second) => {
    const acts = {
      demote: (id: string, who: Caller) => s.grant(who, id, to(who, EDITOR)),
      revoke: (id: string, who: Caller) => s.revoke(who, id, { principalId: who.userId }),
    };
    const top = await folder();
    const [one, two] = [member('One'), member('Two')];
    for (const who of [one, two]) await s.grant(owner, top.id, to(who, OWNER));
    await restrict(top.id);
    const outcomes = await Promise.all([outcome(acts[first](top.id, one)), outcome(acts[second](top.id, two))]);
    expect(outcomes.sort()).toEqual(['last_owner', 'ok']);
  });
});

describe('a revoked grant', () => {
  test('is named by one selector, and may be the caller’s own', async () => {
    const top = await folder();
    const child = await document(top.id);
    const viewer = member('Viewer', WorkspaceRole.VIEWER);
    const { permission } = await s.grant(owner, top.id, to(outsider, VIEWER));
    const id = permission?.id as string;
    expect(await outcome(s.revoke(owner, top.id, {}))).toBe('missing_target');
    expect(await outcome(s.revoke(owner, top.id, { permissionId: id, principalId: viewer.userId }))).toBe(
      'ambiguous_target',
    );
    expect(await outcome(s.revoke(viewer, top.id, { permissionId: id }))).toBe('insufficient_role');
    await expect(s.revoke(owner, child.id, { permissionId: id })).rejects.toMatchObject({
      reason: 'inherited_permission',
      details: { source_resource_id: top.id },
    });
    await expect(s.revoke(owner, child.id, { principalId: outsider.userId })).rejects.toMatchObject({
      reason: 'inherited_permission',
      details: { source_resource_id: top.id },
    });
    await expect(s.revoke(owner, child.id, { principalId: viewer.userId })).rejects.toMatchObject({
      reason: 'inherited_permission',
      details: { source_resource_id: null, source_workspace_id: workspace.id },
    });
    const line = lineOf(await s.view(owner, child.id), viewer)[0];
    expect(await outcome(s.revoke(owner, child.id, { permissionId: line?.id }))).toBe('inherited_permission');
    expect(await outcome(s.revoke(owner, child.id, { permissionId: newId() }))).toBe('not_found');
    expect(await outcome(s.revoke(outsider, top.id, { principalId: outsider.userId }))).toBe('ok');
    expect(await outcome(s.get(outsider, top.id))).toBe('not_found');
  });
});

describe('the permissions of a resource', () => {
  test('name the source of every entry, including the workspace', async () => {
    const editor = member('Editor', WorkspaceRole.EDITOR);
    const top = await folder();
    const middle = await folder(top.id);
    const leaf = await document(middle.id);
    await s.grant(owner, top.id, to(outsider, EDITOR));
    await s.grant(owner, middle.id, { principalType: GranteeType.ORG, role: VIEWER });
    await s.grant(owner, leaf.id, to(outsider, VIEWER));
    const view = await s.view(editor, leaf.id);
    expect(view).toMatchObject({ resourceId: leaf.id, accessMode: AccessMode.INHERIT, access: { role: EDITOR } });
    const lines = view.items.map(({ principal, role, isInherited, sourceResourceId, sourceName }) => [
      principal?.id,
      role,
      isInherited,
      sourceResourceId,
      sourceName,
    ]);
    expect(lines).toEqual([
      [outsider.userId, VIEWER, false, undefined, undefined],
      [org.id, VIEWER, true, middle.id, 'Untitled'],
      [outsider.userId, EDITOR, true, top.id, 'Untitled'],
      [owner.userId, OWNER, true, undefined, 'Workspace'],
      [editor.userId, EDITOR, true, undefined, 'Workspace'],
    ]);
    expect(view.page).toMatchObject({ total: 5, hasMore: false });
    const pages: (string | undefined)[] = [];
    for (let cursor = ''; ; ) {
      const { items, page } = await s.view(editor, leaf.id, { page: { limit: 2, offset: 0, cursor } });
      pages.push(...items.map(({ id }) => id));
      if (page?.nextCursor === undefined) break;
      cursor = page.nextCursor;
    }
    expect(pages).toEqual(view.items.map(({ id }) => id));
    const direct = await s.view(editor, leaf.id, { includeInherited: false });
    expect(direct.items.map(({ principal }) => principal?.id)).toEqual([outsider.userId]);
  });

  test('show callers without write access only their own entries and the owners', async () => {
    const viewer = member('Viewer', WorkspaceRole.VIEWER);
    member('Editor', WorkspaceRole.EDITOR);
    const top = await folder();
    await s.grant(owner, top.id, to(outsider, VIEWER));
    await s.grant(owner, top.id, { principalType: GranteeType.LINK, role: EDITOR });
    await s.ask(viewer, top.id, { role: EDITOR });
    const seen = async (by: Caller) => (await s.view(by, top.id)).items.map(({ principal }) => principal?.id);
    expect(await seen(viewer)).toEqual([owner.userId, viewer.userId]);
    expect(await seen(outsider)).toEqual([outsider.userId, owner.userId]);
    expect(await s.view(viewer, top.id)).toMatchObject({ link: undefined, pendingRequestCount: 1 });
    expect(await s.view(outsider, top.id)).toMatchObject({ link: undefined, pendingRequestCount: 0 });
    expect((await s.view(owner, top.id)).pendingRequestCount).toBe(1);
  });

  test('leave out names of hidden ancestors, and below a restriction all members but administrators', async () => {
    const editor = member('Editor', WorkspaceRole.EDITOR);
    const top = await folder();
    const leaf = await document(top.id);
    await s.grant(owner, top.id, { principalType: GranteeType.AGENT, principalId: newId(), role: VIEWER });
    await s.grant(owner, leaf.id, to(outsider, EDITOR));
    const inherited = (await s.view(outsider, leaf.id)).items.find(
      ({ sourceResourceId }) => sourceResourceId === top.id,
    );
    expect(inherited).toMatchObject({ sourceName: undefined });
    await restrict(leaf.id);
    const view = await s.view(owner, leaf.id);
    expect(lineOf(view, editor)).toEqual([]);
    expect(lineOf(view, owner).map(({ role, isInherited }) => [role, isInherited])).toEqual([
      [MANAGER, false],
      [MANAGER, true],
    ]);
  });
});

describe('a link', () => {
  const link = (role: ResourceRole, audience = LinkAudience.UNSPECIFIED) => ({
    principalType: GranteeType.LINK,
    role,
    audience,
  });
  const tokenOf = async (id: string) => (await s.view(owner, id)).link?.token as string;

  test('gives access to people of the Org who present it, without storing anything', async () => {
    const top = await folder();
    const child = await document(top.id);
    const { link: made } = await s.grant(owner, top.id, link(COMMENTER));
    const shareLink = made?.token as string;
    expect(made).toMatchObject({ role: COMMENTER, audience: LinkAudience.ORG });
    expect(made?.url).toContain(`/api/v1/resources/${top.id}?share_link=${shareLink}`);
    const { access } = await s.get(outsider, child.id, { shareLink });
    expect(access).toMatchObject({ role: COMMENTER, source: AccessSource.LINK, sourceResourceId: top.id });
    expect((await s.filter(outsider, [workspace.id], { shareLink })).granted).toHaveLength(1);
    expect(await outcome(s.get(outsider, child.id))).toBe('not_found');
    expect(await outcome(s.get(outsider, child.id, { shareLink: `${shareLink}x` }))).toBe('not_found');
    expect(await outcome(s.get(tenancy.person('Stranger'), child.id, { shareLink }))).toBe('not_found');
    await s.grant(owner, top.id, link(VIEWER));
    expect(await tokenOf(top.id)).toBe(shareLink);
    expect((await s.get(outsider, top.id, { shareLink })).access).toMatchObject({ role: VIEWER });
    await s.revoke(owner, top.id, { principalType: GranteeType.LINK });
    expect(await outcome(s.get(outsider, top.id, { shareLink }))).toBe('not_found');
    await s.grant(owner, top.id, link(VIEWER));
    expect(await tokenOf(top.id)).not.toBe(shareLink);
  });

  test('for anyone gives read access to people outside of the tenant, while the Org allows it', async () => {
    const stranger = tenancy.person('Stranger');
    const top = await folder();
    const child = await document(top.id);
    expect(await outcome(s.grant(owner, top.id, link(EDITOR, LinkAudience.ANYONE)))).toBe('invalid_value');
    expect(await outcome(s.grant(owner, top.id, link(MANAGER)))).toBe('invalid_value');
    await s.grant(owner, top.id, link(VIEWER, LinkAudience.ANYONE));
    const shareLink = await tokenOf(top.id);
    expect((await s.get(stranger, child.id, { shareLink })).access).toMatchObject({ role: VIEWER, canWrite: false });
    expect(await outcome(s.get({ ...stranger, tenant: { orgId: null } }, child.id, { shareLink }))).toBe(
      'tenant_boundary',
    );
    await restrict(child.id);
    expect(await outcome(s.get(stranger, child.id, { shareLink }))).toBe('not_found');
    org.allowExternalSharing = false;
    await s.tell('org.updated');
    expect(await outcome(s.get(stranger, top.id, { shareLink }))).toBe('not_found');
    expect(await outcome(s.get(outsider, top.id, { shareLink }))).toBe('ok');
    const again = s.grant(owner, top.id, link(VIEWER, LinkAudience.ANYONE));
    expect(await outcome(again)).toBe('external_sharing_disabled');
  });
});

describe('an address', () => {
  test('of a person in the tenant is granted at once, any other is invited', async () => {
    const top = await folder();
    await s.grant(owner, top.id, { email: ` ${outsider.userEmail.toUpperCase()} `, role: EDITOR });
    expect(await seenBy(outsider, top.id)).toMatchObject({ role: EDITOR });
    const stranger = tenancy.person('Stranger');
    const { invites, permission } = await s.grant(owner, top.id, { email: stranger.userEmail, role: EDITOR });
    expect(invites).toMatchObject([{ email: stranger.userEmail }]);
    expect(permission?.principal).toMatchObject({ type: GranteeType.USER, id: undefined, email: stranger.userEmail });
    expect(await outcome(s.get(stranger, top.id))).toBe('not_found');
    const [place] = [...tenancy.invited].at(-1) as [string, string];
    org.roles.set(stranger.userId, OrgRole.GUEST);
    workspace.roles.set(stranger.userId, WorkspaceRole.GUEST);
    const data = {
      workspaceId: workspace.id,
      memberId: place,
      userId: stranger.userId,
      role: 'guest',
      keepGrants: false,
    };
    await s.tell('workspace_member.added', data);
    await eventually(async () => expect(await seenBy(stranger, top.id)).toMatchObject({ role: EDITOR }));
    expect(lineOf(await s.view(owner, top.id), stranger)).toHaveLength(1);
  });

  test('of a person outside of the tenant requires the scope for members', async () => {
    const top = await folder();
    const scopes = owner.credential.scopes.filter((scope) => scope !== 'member:write');
    const narrow = { ...owner, credential: { ...owner.credential, scopes } };
    const act = s.grant(narrow, top.id, { email: 'nobody@example.org', role: VIEWER });
    expect(await outcome(act)).toBe('insufficient_scope');
    expect(await outcome(s.grant(narrow, top.id, { email: outsider.userEmail, role: VIEWER }))).toBe('ok');
    expect(await outcome(s.grant(owner, top.id, to(tenancy.person('Stranger'), VIEWER)))).toBe('not_found');
  });
});

describe('a person who leaves', () => {
  test('a workspace loses their grants inside, unless these are kept', async () => {
    const [lost, kept] = [member('Lost', WorkspaceRole.VIEWER), member('Kept', WorkspaceRole.VIEWER)];
    const top = await folder();
    for (const person of [lost, kept]) await s.grant(owner, top.id, to(person, EDITOR));
    for (const person of [lost, kept]) workspace.roles.delete(person.userId);
    const data = { ...gone(kept), workspaceId: workspace.id, keepGrants: true };
    await s.tell('workspace_member.removed', data);
    const request = { workspaceId: workspace.id, userId: lost.userId };
    expect(await s.permissions.removeMemberGrants(request, await s.stage.as(undefined))).toEqual({ removed: 1 });
    await s.tell('workspace_member.removed', { ...gone(lost), workspaceId: workspace.id });
    expect(await outcome(s.get(lost, top.id))).toBe('not_found');
    expect(await seenBy(kept, top.id)).toMatchObject({ role: EDITOR });
  });

  test('an Org leaves what they owned to their successor', async () => {
    const successor = member('Heir');
    const top = await folder();
    await s.grant(owner, top.id, to(outsider, OWNER));
    await restrict(top.id);
    org.roles.delete(outsider.userId);
    const data = { orgId: org.id, memberId: newId(), userId: outsider.userId, transferToUserId: successor.userId };
    await s.tell('org_member.removed', data);
    await eventually(async () => expect(await seenBy(successor, top.id)).toMatchObject({ role: OWNER }));
    expect(await outcome(s.get(outsider, top.id))).toBe('not_found');
  });

  test('an Org leaves it to their successor with the request, and loses all other grants', async () => {
    const [leaver, successor] = [member('Leaver', WorkspaceRole.EDITOR), member('Heir')];
    const [owned, edited] = [await folder(), await folder()];
    await s.grant(owner, owned.id, to(leaver, OWNER));
    await restrict(owned.id);
    await s.grant(owner, edited.id, to(leaver, EDITOR));
    const restricted = { accessMode: AccessMode.RESTRICTED };
    const made = (name: string) => s.create(leaver, { workspaceId: workspace.id, name, ...restricted });
    const [own, shared] = [await made('Own'), await made('Shared')];
    await s.grant(leaver, shared.id, to(outsider, MANAGER));
    const request = { orgId: org.id, userId: leaver.userId, toUserId: successor.userId };
    const transfer = async () => s.permissions.transferMemberGrants(request, await s.stage.as(undefined));
    expect(await transfer()).toEqual({ transferred: { [workspace.id]: 2 } });
    expect(await transfer()).toEqual({ transferred: {} });
    workspace.roles.delete(leaver.userId);
    await s.tell('workspace_member.removed', { ...gone(leaver), workspaceId: workspace.id });
    org.roles.delete(leaver.userId);
    await s.tell('org_member.removed', { ...request, memberId: newId(), transferToUserId: successor.userId });
    expect(await seenBy(successor, owned.id)).toMatchObject({ role: OWNER });
    expect(await seenBy(successor, own.id)).toMatchObject({ role: MANAGER });
    expect(await outcome(s.get(successor, shared.id))).toBe('not_found');
    for (const { id } of [owned, edited, own, shared]) expect(await outcome(s.get(leaver, id))).toBe('not_found');
  });
});

describe('events', () => {
  test('contain grants for notifications and the index', async () => {
    const top = await folder();
    await s.grant(owner, top.id, { ...to(outsider, VIEWER), message: 'Look' });
    await s.grant(owner, top.id, { ...to(outsider, EDITOR), notify: false });
    await s.grant(owner, top.id, to(outsider, EDITOR));
    await s.revoke(owner, top.id, { principalId: outsider.userId });
    await eventually(() => {
      const published = s.events.filter(({ type, subject }) => type.includes('.permission.') && subject === top.id);
      const base = { resourceId: top.id, workspaceId: workspace.id, principal: `user:${outsider.userId}` };
      expect(published.map(({ type, data }) => [type.split('.').at(-1), data])).toEqual([
        ['granted', { ...base, role: 'viewer', notify: true, message: 'Look' }],
        ['changed', { ...base, role: 'editor', notify: false }],
        ['revoked', { ...base, role: 'editor', notify: false }],
      ]);
      expect(published.map(({ actor }) => actor?.id)).toEqual([owner.userId, owner.userId, owner.userId]);
    });
    const { entries } = await s.index.getIndexEntries({ ids: [top.id], mostBytes: 0 }, await s.stage.as(undefined));
    expect(entries.map(({ directPrincipals }) => directPrincipals)).toEqual([[]]);
  });
});

test('makes all concurrent grants to many people', async () => {
  const top = await folder();
  const people = Array.from({ length: 8 }, (_, i) => member(`Many${i}`));
  await Promise.all(people.map((person) => s.grant(owner, top.id, to(person, VIEWER))));
  for (const person of people) expect(await seenBy(person, top.id)).toMatchObject({ role: VIEWER });
  expect((await s.view(owner, top.id, { includeInherited: false })).page?.total).toBe(8);
});
