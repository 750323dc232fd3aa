import { type AgentRole, type Caller, KNOWN_SCOPES } from '@commonplace/kit/auth';
import { ListOrgMembersRequest, UpdateOrgRequest } from '@commonplace/proto/tenancy/v1/org_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import {
  AddWorkspaceMemberRequest,
  ListWorkspaceMembersRequest,
  UpdateWorkspaceMemberRequest,
} from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openWorld, type World, withKey, withTenant } from './world.js';

let world: World;
let person: Caller;
let stranger: Caller;
let orgId: string;
let otherOrgId: string;
/** Workspace ids by location. */
let ids: Record<'inOrg' | 'inOther' | 'personal' | 'nowhere', string>;

beforeAll(async () => {
  world = await openWorld();
  person = world.person();
  stranger = world.person();
  orgId = (await world.createOrg(person)).id;
  const other = world.person();
  otherOrgId = (await world.createOrg(other)).id;
  const invited = await world.invite(other, otherOrgId, { userId: person.userId, role: OrgRole.ADMIN });
  await world.accept(person, invited.inviteUrl);
  ids = {
    inOrg: (await world.createWorkspace(person, { orgId })).id,
    inOther: (await world.createWorkspace(person, { orgId: otherOrgId })).id,
    personal: (await world.createWorkspace(person)).id,
    nowhere: '0197f0a0-0000-7000-8000-000000000000',
  };
});
afterAll(() => world.close());

const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason: string }) => error.reason,
  );

/** Callers by the name of their credential. */
const callers: Record<string, () => Caller> = {
  session: () => person,
  'session with X-Tenant of the Org': () => withTenant(person, orgId),
  'session with X-Tenant personal': () => withTenant(person, null),
  'Personal key': () => withKey(person, null),
  'Org key': () => withKey(person, orgId),
  'key of the other Org': () => withKey(person, otherOrgId),
  'Org key for another workspace': () => withKey(person, orgId, [ids.nowhere]),
  'session with X-Workspace-Id of another': () => ({ ...person, workspaceId: ids.personal }),
  stranger: () => stranger,
  "stranger's Personal key": () => withKey(stranger, null),
};

const OK = 'ok';
const EDGE = 'tenant_boundary';
const NONE = 'not_found';

describe('Orgs', () => {
  const rows: [string, string, string][] = [
    // caller, the Org, the other Org
    ['session', OK, OK],
    ['session with X-Tenant of the Org', OK, EDGE],
    ['session with X-Tenant personal', EDGE, EDGE],
    ['Personal key', EDGE, EDGE],
    ['Org key', OK, EDGE],
    ['key of the other Org', EDGE, OK],
    ['stranger', NONE, NONE],
    ["stranger's Personal key", NONE, NONE],
  ];
  test.each(rows)('%s', async (name, own, other) => {
    const caller = callers[name]?.() as Caller;
    for (const [id, expected] of [
      [orgId, own],
      [otherOrgId, other],
      [ids.nowhere, NONE],
    ] as const) {
      const options = await world.as(caller);
      const rename = UpdateOrgRequest.fromPartial({ orgId: id, updateMask: ['description'], description: 'x' });
      expect(await outcome(world.orgs.getOrg({ orgId: id }, options))).toBe(expected);
      expect(await outcome(world.orgs.updateOrg(rename, options))).toBe(expected);
      const members = ListOrgMembersRequest.fromPartial({ orgId: id });
      expect(await outcome(world.orgs.listOrgMembers(members, options))).toBe(expected);
      expect(await outcome(world.invite(caller, id, { email: `${caller.credential.id}@x.org` }))).toBe(expected);
      expect(await outcome(world.listWorkspaces(caller, { orgId: id }))).toBe(expected);
      expect(await outcome(world.createWorkspace(caller, { orgId: id }))).toBe(expected);
    }
  });
});

describe('an agent of an owner', () => {
  /** Even a token with all scopes gives it no more than its role. */
  const agent = (role: AgentRole): Caller => ({
    ...person,
    credential: { ...person.credential, type: 'internal', scopes: KNOWN_SCOPES },
    agent: { id: 'scribe', name: 'Scribe', roles: { [ids.inOrg]: role } },
  });

  test.each(['viewer', 'commenter', 'editor'] as const)('acts as a %s, and manages nothing', async (role) => {
    const caller = agent(role);
    expect((await world.getWorkspace(caller, ids.inOrg)).role).toBe(WorkspaceRole[role.toUpperCase() as 'VIEWER']);
    const rename = { updateMask: ['description'], description: 'x' };
    expect(await outcome(world.updateWorkspace(caller, ids.inOrg, rename))).toBe('insufficient_role');
    for (const id of [ids.inOther, ids.personal]) expect(await outcome(world.getWorkspace(caller, id))).toBe(EDGE);
    const org = UpdateOrgRequest.fromPartial({ orgId, ...rename });
    expect(await outcome(world.orgs.updateOrg(org, await world.as(caller)))).toBe('insufficient_role');
    expect(await outcome(world.createWorkspace(caller, { orgId }))).toBe(EDGE);
  });
});

describe('workspaces', () => {
  const rows: [string, string, string, string][] = [
    // caller, in the Org, in the other, Personal
    ['session', OK, OK, OK],
    ['session with X-Tenant of the Org', OK, EDGE, EDGE],
    ['session with X-Tenant personal', EDGE, EDGE, OK],
    ['Personal key', EDGE, EDGE, OK],
    ['Org key', OK, EDGE, EDGE],
    ['key of the other Org', EDGE, OK, EDGE],
    ['Org key for another workspace', EDGE, EDGE, EDGE],
    ['session with X-Workspace-Id of another', EDGE, EDGE, OK],
    ['stranger', NONE, NONE, NONE],
    ["stranger's Personal key", NONE, NONE, NONE],
  ];
  test.each(rows)('%s', async (name, inOrg, inOther, personal) => {
    const caller = callers[name]?.() as Caller;
    const expected = { inOrg, inOther, personal, nowhere: NONE };
    for (const place of ['inOrg', 'inOther', 'personal', 'nowhere'] as const) {
      const workspaceId = ids[place];
      const options = await world.as(caller);
      const rename = { updateMask: ['description'], description: 'x' };
      const members = ListWorkspaceMembersRequest.fromPartial({ workspaceId });
      const addition = AddWorkspaceMemberRequest.fromPartial({ workspaceId, email: `${caller.credential.id}@x.org` });
      expect(await outcome(world.getWorkspace(caller, workspaceId))).toBe(expected[place]);
      expect(await outcome(world.updateWorkspace(caller, workspaceId, rename))).toBe(expected[place]);
      expect(await outcome(world.workspaces.listWorkspaceMembers(members, options))).toBe(expected[place]);
      expect(await outcome(world.workspaces.addWorkspaceMember(addition, options))).toBe(expected[place]);
      const outsider = { workspaceId, memberId: ids.nowhere };
      const change = UpdateWorkspaceMemberRequest.fromPartial({ ...outsider, role: WorkspaceRole.VIEWER });
      const missed = expected[place] === OK ? NONE : expected[place];
      expect(await outcome(world.workspaces.updateWorkspaceMember(change, options))).toBe(missed);
      const removal = world.workspaces.removeWorkspaceMember({ ...outsider, keepGrants: false }, options);
      expect(await outcome(removal)).toBe(missed);
    }
  });

  test('lists omit what the credential does not reach', async () => {
    const names = async (caller: Caller, fields = {}) =>
      (await world.listWorkspaces(caller, fields)).items.map(({ id }) => id);
    expect(await names(withKey(person, orgId, [ids.inOrg, ids.inOther]))).toEqual([ids.inOrg]);
    expect(await names(withKey(person, orgId, [ids.nowhere]))).toEqual([]);
    expect(await names({ ...person, workspaceId: ids.personal })).toEqual([ids.personal]);
    expect(await names({ ...person, workspaceId: ids.personal }, { orgId })).toEqual([]);
    expect(await outcome(world.listWorkspaces(withKey(person, orgId), { personal: true }))).toBe(EDGE);
    const { caller: creator } = await world.join(person, orgId, OrgRole.MEMBER);
    const unjoined = await world.createWorkspace(creator, { orgId });
    expect(await names(withKey(person, orgId, [unjoined.id]))).toEqual([unjoined.id]);
    expect(await outcome(world.createWorkspace(withKey(person, orgId, [ids.inOrg])))).toBe(EDGE);
  });
});
