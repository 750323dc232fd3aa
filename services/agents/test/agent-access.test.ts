import type { PersonMemberships } from '@commonplace/platform/memberships';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { describe, expect, test } from '@jest/globals';
import { accessTo } from '../src/agents/access.js';
import { placesAfter } from '../src/agents/places.js';
import type { AgentRecord } from '../src/stores/agents.js';
import { NEW_AGENT } from '../src/wire/agent-fields.js';

const agent = (more: Partial<AgentRecord> = {}): AgentRecord => ({
  ...NEW_AGENT,
  ...{ id: 'a', version: 1, tenant: 'org', orgId: 'org', ownerId: 'owner', ownerName: 'Owner', skills: [] },
  ...{ places: [{ workspaceId: 'w', role: 'viewer' }], workspaceIds: ['w'], mcpServerCount: 0, promptVersion: 1 },
  ...{ nameFold: '', words: '', createdAt: '', updatedAt: '', ...more },
});

/** A person with roles in the Org `org` and in workspaces of it. */
function person(
  id: string,
  org?: OrgRole,
  workspaces: Readonly<Record<string, WorkspaceRole>> = {},
): PersonMemberships {
  const member = (workspaceId: string, role: WorkspaceRole) => ({
    ...{
      workspaceId,
      orgId: org === undefined ? '' : 'org',
      role,
      archived: workspaceId === 'archived',
      name: workspaceId,
    },
    ...{ editorsCanShare: true, trashRetentionDays: 30 },
  });
  return {
    userId: id,
    orgs: new Map(org === undefined ? [] : [['org', { orgId: 'org', name: 'Org', role: org } as never]]),
    workspaces: new Map(Object.entries(workspaces).map(([one, role]) => [one, member(one, role) as never])),
    groups: new Set(),
    principals: [],
  };
}

describe('who may use an agent of an Org', () => {
  const { MEMBER, GUEST, ADMIN } = OrgRole;
  test.each([
    ['its owner', {}, person('owner', MEMBER), true],
    ['an owner who has left the Org', {}, person('owner'), false],
    [
      'an owner who has left the Org, where the workspace is theirs',
      { visibility: 'workspace' },
      person('owner', undefined, { w: WorkspaceRole.OWNER }),
      false,
    ],
    ['nobody else while it is private', {}, person('other', MEMBER, { w: WorkspaceRole.OWNER }), false],
    [
      'readers of its workspace',
      { visibility: 'workspace' },
      person('other', MEMBER, { w: WorkspaceRole.VIEWER }),
      true,
    ],
    ['no guests of it', { visibility: 'workspace' }, person('other', MEMBER, { w: WorkspaceRole.GUEST }), false],
    ['no readers of another', { visibility: 'workspace' }, person('other', MEMBER, { v: WorkspaceRole.OWNER }), false],
    ['members of the Org', { visibility: 'org' }, person('other', MEMBER), true],
    ['no guests of the Org', { visibility: 'org' }, person('other', GUEST), false],
    ['no administrators of the Org by that alone', {}, person('other', ADMIN), false],
    ['nobody of elsewhere', { visibility: 'org' }, person('other'), false],
  ] as const)('%s', (_, more, who, mayUse) => {
    expect(accessTo(agent(more), who).mayUse).toBe(mayUse);
  });
});

describe('the workspaces of an agent', () => {
  const { VIEWER, EDITOR, ADMIN } = WorkspaceRole;
  const caller = { userId: 'x', credential: { type: 'session', id: 'c', scopes: [] } };
  const after = (
    of: AgentRecord,
    isOwner: boolean,
    wanted: Readonly<Record<string, 'viewer' | 'commenter' | 'editor'>>,
    who: PersonMemberships,
    narrowed: { readonly workspaceId?: string; readonly keyOf?: readonly string[] } = {},
  ) => {
    const { workspaceId, keyOf: workspaceIds } = narrowed;
    const by = { ...caller, workspaceId, credential: { ...caller.credential, workspaceIds } };
    const given = Object.entries(wanted).map(([workspaceId, role]) => ({
      workspaceId,
      role,
      idParam: '',
      roleParam: '',
    }));
    try {
      const places = placesAfter({ settings: { agentWorkspaces: 3 } } as never, of, isOwner, given, who, {
        caller: by,
      } as never);
      return Object.fromEntries(places.map(({ workspaceId, role }) => [workspaceId, role]));
    } catch (error) {
      return (error as { reason: string }).reason;
    }
  };
  const editorHere = agent({ places: [{ workspaceId: 'w', role: 'editor' }] });
  const two = agent({
    places: [
      { workspaceId: 'v', role: 'editor' },
      { workspaceId: 'w', role: 'viewer' },
    ],
  });

  test.each([
    ['an owner lets it read where they read', agent(), true, { w: 'viewer' }, { w: VIEWER }, { w: 'viewer' }],
    ['an owner who edits lets it not write', agent(), true, { w: 'editor' }, { w: EDITOR }, 'insufficient_role'],
    ['an owner who administers lets it write', agent(), true, { w: 'editor' }, { w: ADMIN }, { w: 'editor' }],
    ['what was given stays for a weaker owner', editorHere, true, { w: 'editor' }, { w: VIEWER }, { w: 'editor' }],
    ['a weaker owner lowers it', editorHere, true, { w: 'commenter' }, { w: VIEWER }, { w: 'commenter' }],
    ['an owner drops what they do not see', two, true, { w: 'viewer' }, { w: VIEWER }, { w: 'viewer' }],
    ['others change nothing where they do not administer', agent(), false, {}, { w: EDITOR }, 'insufficient_role'],
    ['others keep what they do not see', two, false, {}, { w: ADMIN }, { v: 'editor' }],
    ['a workspace that is not seen is not found', agent(), true, { x: 'viewer' }, { w: ADMIN }, 'not_found'],
    ['guests let it in nowhere', agent(), true, { v: 'viewer' }, { v: WorkspaceRole.GUEST }, 'insufficient_role'],
    [
      'an archived one takes it not in',
      agent(),
      true,
      { archived: 'viewer' },
      { archived: ADMIN },
      'workspace_archived',
    ],
  ] as const)('%s', (_, of, isOwner, wanted, roles, expected) => {
    expect(after(of, isOwner, wanted, person('x', OrgRole.MEMBER, roles))).toEqual(expected);
  });

  test.each([
    ['X-Workspace-Id', { workspaceId: 'w' }],
    ['workspace_ids of a key', { keyOf: ['w'] }],
  ] as const)('that %s hides are kept', (_, narrowed) => {
    const member = person('x', OrgRole.MEMBER, { v: ADMIN, w: ADMIN });
    expect(after(two, true, {}, member, narrowed)).toEqual({ v: 'editor' });
    expect(after(two, true, { w: 'commenter' }, member, narrowed)).toEqual({ v: 'editor', w: 'commenter' });
    expect(after(two, false, {}, person('x', OrgRole.MEMBER, { v: VIEWER, w: ADMIN }), narrowed)).toEqual({
      v: 'editor',
    });
    expect(after(two, true, { v: 'viewer' }, member, narrowed)).toBe('tenant_boundary');
  });

  test('belong to its tenant, and are limited in number', () => {
    const elsewhere = person('x', undefined, { w: ADMIN });
    expect(after(agent(), true, { w: 'viewer' }, elsewhere)).toBe('tenant_boundary');
    const roles = { a: ADMIN, b: ADMIN, c: ADMIN, d: ADMIN };
    const all = { a: 'viewer', b: 'viewer', c: 'viewer', d: 'viewer' } as const;
    expect(after(agent(), true, all, person('x', OrgRole.MEMBER, roles))).toBe('limit_reached');
  });
});
