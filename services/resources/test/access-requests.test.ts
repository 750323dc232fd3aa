import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { Reply } from '@commonplace/kit/rpc';
import { eventually } from '@commonplace/kit/testing';
import { AccessRequestStatus } from '@commonplace/proto/resources/v1/access_request.js';
import { ListAccessRequestsRequest } from '@commonplace/proto/resources/v1/access_request_service.js';
import { GranteeType } from '@commonplace/proto/resources/v1/permission.js';
import { AccessMode, type Resource, ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { playClock } from './clock.js';
import { openSharingStage, type SharingStage } from './sharing-stage.js';
import type { PlayedTenancy, PlayedWorkspace } from './tenancy.js';

const { VIEWER, EDITOR, MANAGER, OWNER } = ResourceRole;
const { APPROVED, DENIED, CANCELED, PENDING, EXPIRED } = AccessRequestStatus;
const HOUR = 3_600_000;

let s: SharingStage;
let org: ReturnType<PlayedTenancy['org']>;
let workspace: PlayedWorkspace;
let owner: Caller;
let asker: Caller;
let top: Resource;
let item: Resource;

beforeAll(async () => {
  s = await openSharingStage();
});
afterAll(() => s.stage.close());

beforeEach(async () => {
  org = s.tenancy.org();
  workspace = s.tenancy.workspace(org);
  owner = member('Owner', WorkspaceRole.OWNER);
  asker = member('Asker');
  top = await s.create(owner, { workspaceId: workspace.id, name: 'Hidden place' });
  item = await s.create(owner, { parentId: top.id, name: 'Hidden name' });
});

afterEach(() => {
  jest.useRealTimers();
});

function member(name: string, role?: WorkspaceRole, orgRole = OrgRole.MEMBER): Caller {
  const person = s.tenancy.person(`${name}${newId().slice(-6)}`);
  org.roles.set(person.userId, orgRole);
  if (role !== undefined) workspace.roles.set(person.userId, role);
  return person;
}

const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason?: string; message: string }) => error.reason ?? error.message,
  );
const list = async (by: Caller, id: string, status = AccessRequestStatus.UNSPECIFIED) => {
  const page = { limit: 50, offset: 0, cursor: '' };
  const request = ListAccessRequestsRequest.fromPartial({ resourceId: id, status, page });
  return (await s.requests.listAccessRequests(request, await s.stage.as(by))).items;
};

describe('an access request', () => {
  test('can be made by people of the tenant, and reveals nothing of the resource', async () => {
    const reply: Reply = {};
    const made = await s.ask(asker, item.id, { message: 'Please' }, reply);
    expect(made).toMatchObject({ role: VIEWER, status: PENDING, requester: { id: asker.userId }, message: 'Please' });
    expect(JSON.stringify(made)).not.toContain('Hidden');
    expect(Date.parse(made.expiresAt as string) - Date.parse(made.createdAt as string)).toBe(30 * 24 * HOUR);
    const again = await s.ask(asker, item.id, { role: EDITOR }, reply);
    expect([reply.status, again]).toEqual([200, made]);
    expect(await outcome(s.ask(asker, newId()))).toBe('not_found');
    expect(await outcome(s.ask(s.tenancy.person('Stranger'), item.id))).toBe('not_found');
    expect(await outcome(s.ask({ ...asker, tenant: { orgId: null } }, item.id))).toBe('tenant_boundary');
    expect(await outcome(s.ask(owner, item.id, { role: MANAGER }))).toBe('already_exists');
    expect(await outcome(s.ask(asker, top.id, { role: OWNER }))).toBe('invalid_value');
    await eventually(() => {
      const published = s.events.filter(({ type, subject }) => type.includes('access_request') && subject === item.id);
      expect(published.map(({ type, data }) => [type, data])).toEqual([
        [
          'commonplace.resources.access_request.created',
          {
            requestId: made.id,
            resourceId: item.id,
            workspaceId: workspace.id,
            requesterId: asker.userId,
            role: 'viewer',
            status: 'pending',
            message: 'Please',
            notifyUserIds: [owner.userId],
          },
        ],
      ]);
    });
  });

  test('is accepted if the workspace allows it, and from guests of the Org if it allows theirs', async () => {
    const guest = member('Guest', undefined, OrgRole.GUEST);
    const viewer = member('Viewer', WorkspaceRole.VIEWER, OrgRole.GUEST);
    expect(await outcome(s.ask(guest, item.id))).toBe('not_found');
    expect(await outcome(s.ask(viewer, item.id, { role: EDITOR }))).toBe('insufficient_role');
    workspace.allowExternalAccessRequests = true;
    await s.tell('workspace.updated');
    expect(await outcome(s.ask(guest, item.id))).toBe('ok');
    workspace.allowAccessRequests = false;
    await s.tell('workspace.updated');
    expect(await outcome(s.ask(asker, item.id))).toBe('not_found');
  });

  test('is listed for managers, and for its requester', async () => {
    const other = member('Other', WorkspaceRole.VIEWER);
    const first = await s.ask(asker, item.id);
    const second = await s.ask(other, item.id, { role: EDITOR });
    expect((await list(owner, item.id)).map(({ id }) => id)).toEqual([second.id, first.id]);
    expect((await list(other, item.id)).map(({ id }) => id)).toEqual([second.id]);
    expect((await list(asker, item.id)).map(({ id }) => id)).toEqual([first.id]);
    expect(await outcome(list(member('Nobody'), item.id))).toBe('not_found');
    expect(await list(owner, item.id, APPROVED)).toEqual([]);
    expect(await list(owner, item.id, PENDING)).toHaveLength(2);
  });

  test('is approved with the role asked for, another one, or on an ancestor', async () => {
    const made = await s.ask(asker, item.id, { role: EDITOR });
    const approved = await s.decide(owner, made.id, { status: APPROVED, role: VIEWER, message: 'Read it first' });
    expect(approved).toMatchObject({
      status: APPROVED,
      grantedRole: VIEWER,
      decidedBy: { id: owner.userId },
      decisionMessage: 'Read it first',
      permission: { role: VIEWER, resourceId: item.id, principal: { id: asker.userId } },
    });
    expect((await s.get(asker, item.id)).access).toMatchObject({ role: VIEWER });
    expect(await outcome(s.decide(owner, made.id, { status: DENIED }))).toBe('request_not_pending');
    const more = await s.ask(asker, item.id, { role: EDITOR });
    const target = { status: APPROVED, targetResourceId: top.id };
    expect(await s.decide(owner, more.id, target)).toMatchObject({ permission: { resourceId: top.id, role: EDITOR } });
    expect((await s.get(asker, top.id)).access).toMatchObject({ role: EDITOR });
    await eventually(() => {
      const published = s.events.filter(({ data }) => data.requestId === made.id).map(({ data }) => data);
      expect(published[1]).toMatchObject({ status: 'approved', role: 'viewer', notifyUserIds: [asker.userId] });
    });
  });

  describe('when approved takes no access from the requester, and prolongs none', () => {
    const inHours = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString();
    const roleNow = () =>
      s.get(asker, item.id).then(
        ({ access }) => access?.role,
        () => undefined,
      );
    /**
     * Requests access, gets a grant before the decision, and is approved with another role. Returns the roles at once
     * and after each grant expires.
     */
    async function rolesOf(
      [role, hours]: readonly [ResourceRole, number?],
      [given, givenHours]: readonly [ResourceRole, number?],
    ) {
      const { id } = await s.ask(asker, item.id, { role: MANAGER });
      const grantee = { principalType: GranteeType.USER, principalId: asker.userId };
      const ends = (after?: number) => (after === undefined ? {} : { expiresAt: inHours(after) });
      await s.grant(owner, item.id, { ...grantee, role, ...ends(hours) });
      await s.decide(owner, id, { status: APPROVED, role: given, ...ends(givenHours) });
      const roles = [await roleNow()];
      // Half an hour after each expiry.
      for (const hours of [1.5, 1]) {
        playClock(hours * HOUR);
        roles.push(await roleNow());
      }
      return roles;
    }

    test.each([
      ['a temporary owner, a lasting viewer', [OWNER, 1], [VIEWER], [OWNER, VIEWER, VIEWER]],
      ['a lasting viewer, a temporary editor', [VIEWER], [EDITOR, 1], [EDITOR, VIEWER, VIEWER]],
      ['a temporary editor, a longer viewer', [EDITOR, 1], [VIEWER, 2], [EDITOR, VIEWER, undefined]],
      ['a lasting editor, a temporary viewer', [EDITOR], [VIEWER, 1], [EDITOR, EDITOR, EDITOR]],
      ['a temporary viewer, a longer viewer', [VIEWER, 1], [VIEWER, 2], [VIEWER, VIEWER, undefined]],
      ['a temporary viewer, a lasting editor', [VIEWER, 1], [EDITOR], [EDITOR, EDITOR, EDITOR]],
    ] as const)('%s', async (_, held, given, expected) => {
      expect(await rolesOf(held, given)).toEqual(expected);
    });

    test('is listed with its current terms, and revoked as a whole', async () => {
      const grantee = { principalType: GranteeType.USER, principalId: asker.userId };
      const { id } = await s.ask(asker, item.id, { role: EDITOR });
      await s.grant(owner, item.id, { ...grantee, role: VIEWER });
      await s.decide(owner, id, { status: APPROVED, expiresAt: inHours(1) });
      playClock(2 * HOUR);
      const { items } = await s.view(owner, item.id, { includeInherited: false });
      expect(items.find(({ principal }) => principal?.id === asker.userId)).toMatchObject({
        role: VIEWER,
        expiresAt: undefined,
      });
      await s.revoke(owner, item.id, grantee);
      expect(await roleNow()).toBeUndefined();
    });
  });

  test('is not approved without effect, or beyond the decider’s own role', async () => {
    const manager = member('Manager', WorkspaceRole.VIEWER);
    const beside = await s.create(owner, { workspaceId: workspace.id });
    const made = await s.ask(asker, item.id);
    await s.grant(owner, item.id, { principalId: manager.userId, role: MANAGER });
    const decide = (by: Caller, fields: object) => outcome(s.decide(by, made.id, { status: APPROVED, ...fields }));
    expect(await decide(manager, { role: OWNER })).toBe('role_escalation');
    expect(await decide(manager, { targetResourceId: top.id })).toBe('insufficient_role');
    expect(await decide(owner, { targetResourceId: beside.id })).toBe('invalid_value');
    expect(await decide(owner, { expiresAt: '2020-01-01T00:00:00.000Z' })).toBe('invalid_value');
    await s.grant(owner, item.id, { accessMode: AccessMode.RESTRICTED });
    expect(await decide(owner, { targetResourceId: top.id })).toBe('invalid_value');
    expect(await decide(manager, {})).toBe('ok');
  });

  test('is not approved for a person who has left, so that nothing waits for their return', async () => {
    const asked = await s.ask(asker, item.id);
    const role = org.roles.get(asker.userId) as OrgRole;
    org.roles.delete(asker.userId);
    const data = { orgId: org.id, memberId: newId(), userId: asker.userId, transferToUserId: owner.userId };
    await s.tell('org_member.removed', data);
    const approve = () => outcome(s.decide(owner, asked.id, { status: APPROVED }));
    expect(await approve()).toBe('member_unavailable');
    org.roles.set(asker.userId, role);
    expect(await outcome(s.get(asker, item.id))).toBe('not_found');
    expect(await approve()).toBe('ok');
  });

  test('is decided by managers and canceled by its requester', async () => {
    const viewer = member('Viewer', WorkspaceRole.VIEWER);
    const made = await s.ask(asker, item.id);
    const by = (person: Caller, status: AccessRequestStatus) => outcome(s.decide(person, made.id, { status }));
    // A reader of the resource does not see the requests of others.
    expect([await by(viewer, APPROVED), await by(viewer, CANCELED)]).toEqual(['not_found', 'not_found']);
    expect(await by(member('Nobody'), APPROVED)).toBe('not_found');
    expect(await by(asker, APPROVED)).toBe('insufficient_role');
    expect(await by(owner, CANCELED)).toBe('insufficient_role');
    expect(await by(member('Nobody'), CANCELED)).toBe('not_found');
    expect(await by(owner, PENDING)).toBe('invalid_value');
    expect(await by(asker, CANCELED)).toBe('ok');
    expect(await by(owner, APPROVED)).toBe('request_not_pending');
    expect((await s.ask(asker, item.id)).id).not.toBe(made.id);
  });

  test('can be repeated a day after it was denied', async () => {
    const made = await s.ask(asker, item.id);
    await s.decide(owner, made.id, { status: DENIED });
    expect(await outcome(s.ask(asker, item.id))).toBe('request_not_pending');
    playClock(24 * HOUR - 60_000);
    expect(await outcome(s.ask(asker, item.id))).toBe('request_not_pending');
    playClock(2 * 60_000);
    expect((await s.ask(asker, item.id)).status).toBe(PENDING);
  });

  test('expires after 30 days by itself', async () => {
    const made = await s.ask(asker, item.id);
    playClock(30 * 24 * HOUR);
    expect(await list(asker, item.id)).toMatchObject([{ id: made.id, status: EXPIRED }]);
    expect(await list(owner, item.id, PENDING)).toEqual([]);
    expect(await list(owner, item.id, EXPIRED)).toHaveLength(1);
    expect((await s.view(owner, item.id)).pendingRequestCount).toBe(0);
    expect(await outcome(s.decide(owner, made.id, { status: APPROVED }))).toBe('request_not_pending');
    const next = await s.ask(asker, item.id);
    expect(next.id).not.toBe(made.id);
    expect((await list(owner, item.id)).map(({ status }) => status)).toEqual([PENDING, EXPIRED]);
  });

  test('is limited to thirty an hour', async () => {
    for (let i = 0; i < 30; i++) {
      const { id } = await s.create(owner, { workspaceId: workspace.id });
      await s.ask(asker, id);
    }
    await expect(s.ask(asker, item.id)).rejects.toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      reason: 'rate_limited',
      retryAfter: expect.any(Number),
    });
    playClock(HOUR + 1000);
    expect(await outcome(s.ask(asker, item.id))).toBe('ok');
  });

  test('is created once by many concurrent calls', async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => s.ask(asker, item.id)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
  });
});
