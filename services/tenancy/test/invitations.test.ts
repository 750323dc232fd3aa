import type { Caller } from '@commonplace/kit/auth';
import { fingerprint } from '@commonplace/kit/id';
import type { Reply } from '@commonplace/kit/rpc';
import { OrgMemberStatus } from '@commonplace/proto/tenancy/v1/org.js';
import { AddOrgMemberRequest, ListOrgMembersRequest } from '@commonplace/proto/tenancy/v1/org_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { WorkspaceMemberStatus } from '@commonplace/proto/tenancy/v1/workspace.js';
import { ListWorkspaceMembersRequest } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { invitationCollection } from '../src/stores/invitations.js';
import { openWorld, page, type World } from './world.js';

let world: World;
let owner: Caller;
let orgId: string;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  owner = world.person();
  orgId = (await world.createOrg(owner)).id;
});

const DAY = 86_400_000;
const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason: string }) => error.reason,
  );
const tokenOf = (url: string | undefined) => new URL(url ?? '').searchParams.get('invite') ?? '';
const members = async (fields: Partial<ListOrgMembersRequest> = {}) =>
  (
    await world.orgs.listOrgMembers(
      { ...ListOrgMembersRequest.fromPartial({ orgId, page: page() }), ...fields },
      await world.as(owner),
    )
  ).items;

describe('to an Org', () => {
  test('the link works once, for any holder', async () => {
    const invited = await world.invite(owner, orgId, { email: 'New@X.org ', message: 'Come in' });
    expect(invited).toMatchObject({
      status: OrgMemberStatus.INVITED,
      role: OrgRole.MEMBER,
      email: 'New@X.org',
      user: undefined,
      invitedById: owner.userId,
      invitedBy: { type: 'ACTOR_TYPE_USER', id: owner.userId, name: owner.userName },
      joinedAt: undefined,
    });
    expect(invited.inviteUrl).toMatch(/^http:\/\/127\.0\.0\.1:8080\/auth\/sign-up\?invite=[\w-]{43}$/);
    expect(Date.parse(invited.inviteExpiresAt ?? '') - Date.parse(invited.invitedAt ?? '')).toBe(14 * DAY);
    const token = tokenOf(invited.inviteUrl);
    const shown = await world.directory.getInvitation({ token }, await world.system());
    expect(shown).toMatchObject({ email: 'New@X.org', orgId, workspaceId: undefined });

    const person = world.person('Newcomer');
    expect(await world.accept(person, invited.inviteUrl)).toEqual({ orgId, workspaceId: undefined });
    const [, member] = await members();
    expect(member).toMatchObject({
      id: invited.id,
      status: OrgMemberStatus.ACTIVE,
      user: { id: person.userId, name: 'Newcomer', email: person.userEmail },
      inviteUrl: undefined,
    });
    for (const again of [person, world.person()]) {
      expect(await outcome(world.accept(again, invited.inviteUrl))).toBe('not_found');
    }
    expect(await outcome(world.directory.getInvitation({ token }, await world.system()))).toBe('not_found');
  });

  test('wrong, expired and revoked tokens are all not found', async () => {
    const person = world.person();
    const base = 'http://localhost/auth/sign-up?invite=';
    for (const wrong of ['', 'x', 'A'.repeat(43)]) {
      expect(await outcome(world.accept(person, base + wrong))).toBe('not_found');
    }
    const { id, inviteUrl } = await world.invite(owner, orgId, { email: 'a@x.org' });
    await world.orgs.removeOrgMember({ orgId, memberId: id, transferToMemberId: undefined }, await world.as(owner));
    expect(await outcome(world.accept(person, inviteUrl))).toBe('not_found');

    const late = await world.invite(owner, orgId, { email: 'late@x.org' });
    world.wait(14 * DAY + 1);
    expect(await outcome(world.accept(person, late.inviteUrl))).toBe('not_found');
    expect(await members({ status: OrgMemberStatus.INVITED })).toEqual([]);
    expect(await members({ status: OrgMemberStatus.EXPIRED })).toMatchObject([
      { id: late.id, status: OrgMemberStatus.EXPIRED },
    ]);
    const reply: Reply = {};
    const renewed = await world.invite(owner, orgId, { email: 'late@x.org' }, reply);
    expect([renewed.id, renewed.status, reply.status]).toEqual([late.id, OrgMemberStatus.INVITED, 200]);
    expect(await outcome(world.accept(person, renewed.inviteUrl))).toBe('ok');
  });

  test('sending again invalidates the old link, and updates the role', async () => {
    const first = await world.invite(owner, orgId, { email: 'a@x.org' });
    const reply: Reply = {};
    const second = await world.invite(owner, orgId, { email: 'A@X.ORG', role: OrgRole.ADMIN }, reply);
    expect(reply.status).toBe(200);
    expect(second).toMatchObject({ id: first.id, role: OrgRole.ADMIN });
    const third = await world.invite(owner, orgId, { email: 'a@x.org' });
    expect(third.role).toBe(OrgRole.ADMIN);
    const person = world.person();
    expect(await outcome(world.accept(person, first.inviteUrl))).toBe('not_found');
    expect(await outcome(world.accept(person, second.inviteUrl))).toBe('not_found');
    expect(await outcome(world.accept(person, third.inviteUrl))).toBe('ok');
  });

  test('concurrent invitations for one address result in one invitation', async () => {
    const made = await Promise.all(
      Array.from({ length: 5 }, () => world.invite(owner, orgId, { email: 'rush@x.org' })),
    );
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    const person = world.person();
    const outcomes = await Promise.all(made.map(({ inviteUrl }) => outcome(world.accept(person, inviteUrl))));
    expect(outcomes.filter((one) => one === 'ok')).toHaveLength(1);
  });

  test('an invitation by id is for that person only', async () => {
    const person = world.person();
    const { inviteUrl, status, user } = await world.invite(owner, orgId, { userId: person.userId });
    expect([status, user]).toEqual([OrgMemberStatus.INVITED, undefined]);
    expect(await outcome(world.accept(world.person(), inviteUrl))).toBe('not_found');
    expect(await outcome(world.accept(person, inviteUrl))).toBe('ok');
    expect(await outcome(world.invite(owner, orgId, { userId: person.userId }))).toBe('already_member');
    expect(await outcome(world.invite(owner, orgId, { email: person.userEmail }))).toBe('already_member');
    const unknown = '0197f0a0-0000-7000-8000-000000000000';
    expect(await outcome(world.invite(owner, orgId, { userId: unknown }))).toBe('not_found');
    expect(await outcome(world.invite(owner, orgId, {}))).toBe('missing_field');
    expect(await outcome(world.invite(owner, orgId, { userId: unknown, email: 'a@x.org' }))).toBe('invalid_value');
  });

  test('existing members keep their role, or get the greater one', async () => {
    const { caller } = await world.join(owner, orgId, OrgRole.ADMIN);
    const { inviteUrl } = await world.invite(owner, orgId, { email: 'other@x.org', role: OrgRole.GUEST });
    expect(await world.accept(caller, inviteUrl)).toEqual({ orgId, workspaceId: undefined });
    expect(await members()).toHaveLength(2);
    const { orgs } = await world.directory.getMemberships({ userId: caller.userId }, await world.system());
    expect(orgs).toMatchObject([{ role: OrgRole.ADMIN }]);
    const { caller: guest } = await world.join(owner, orgId, OrgRole.GUEST);
    const raised = await world.invite(owner, orgId, { email: 'again@x.org', role: OrgRole.MEMBER });
    await world.accept(guest, raised.inviteUrl);
    const now = await world.directory.getMemberships({ userId: guest.userId }, await world.system());
    expect(now.orgs).toMatchObject([{ role: OrgRole.MEMBER }]);
    expect(await members()).toHaveLength(3);
  });

  test('people whom the Org has suspended cannot return by another invitation', async () => {
    const { caller, memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
    const suspend = { orgId, memberId, updateMask: ['status'], status: OrgMemberStatus.SUSPENDED };
    await world.updateOrgMember(owner, suspend);
    const { inviteUrl } = await world.invite(owner, orgId, { email: 'side@door.org', role: OrgRole.OWNER });
    expect(await outcome(world.accept(caller, inviteUrl))).toBe('not_found');
  });

  test('accepts only addresses of allowed domains, and only up to the limit', async () => {
    await world.updateOrg(owner, orgId, {
      updateMask: ['settings.allowed_email_domains'],
      settings: { allowedEmailDomains: ['x.org'] },
    });
    const refused = world.invite(owner, orgId, { email: 'a@notx.org' });
    await expect(refused).rejects.toMatchObject({ reason: 'invalid_value', param: 'email' });
    expect(await outcome(world.invite(owner, orgId, { email: 'a@x.org' }))).toBe('ok');
    const stranger = world.person();
    await expect(world.invite(owner, orgId, { userId: stranger.userId })).rejects.toMatchObject({ param: 'user_id' });
  });

  test('the spelling of an accent does not matter', async () => {
    await world.invite(owner, orgId, { email: 'Jose\u0301@X.org', anyAccount: false });
    await world.invite(owner, orgId, { email: 'jos\u00e9@x.org', anyAccount: false });
    expect(await members({ status: OrgMemberStatus.INVITED })).toHaveLength(1);
    const person = { ...world.person('Jos\u00e9'), userEmail: 'jos\u00e9@x.org' };
    const renewed = await world.invite(owner, orgId, { email: 'Jose\u0301@x.org', anyAccount: false });
    expect(await outcome(world.accept(person, renewed.inviteUrl))).toBe('ok');
  });

  test('is accepted only by an account with its address, in any notation', async () => {
    const thief = world.person();
    const bound = { anyAccount: false, role: OrgRole.ADMIN };
    const { inviteUrl } = await world.invite(owner, orgId, { email: 'Bound@X.org', ...bound });
    expect(await outcome(world.accept(thief, inviteUrl))).toBe('invitation_address_mismatch');
    expect(await members({ status: OrgMemberStatus.ACTIVE })).toHaveLength(1);
    const person = { ...world.person(), userEmail: 'bound@x.ORG' };
    expect(await outcome(world.accept(person, inviteUrl))).toBe('ok');
    expect(await outcome(world.accept(thief, inviteUrl))).toBe('not_found');

    const open = await world.invite(owner, orgId, { email: 'open@x.org', anyAccount: true });
    expect(await outcome(world.accept(thief, open.inviteUrl))).toBe('ok');
    const named = world.invite(owner, orgId, { userId: world.person().userId, anyAccount: true });
    await expect(named).rejects.toMatchObject({ reason: 'invalid_value', param: 'any_account' });
  });

  test('sending again can change whom the link admits', async () => {
    const email = 'twice@x.org';
    await world.invite(owner, orgId, { email, anyAccount: true });
    const { inviteUrl } = await world.invite(owner, orgId, { email, anyAccount: false });
    expect(await outcome(world.accept(world.person(), inviteUrl))).toBe('invitation_address_mismatch');
  });

  test('checks the allowed domains again on acceptance', async () => {
    const allow = (...allowedEmailDomains: string[]) =>
      world.updateOrg(owner, orgId, {
        updateMask: ['settings.allowed_email_domains'],
        settings: { allowedEmailDomains },
      });
    await allow('x.org');
    const { inviteUrl } = await world.invite(owner, orgId, { email: 'a@x.org', anyAccount: true });
    const outsider = world.person();
    expect(await outcome(world.accept(outsider, inviteUrl))).toBe('email_domain_not_allowed');
    const workspace = await world.createWorkspace(owner, { orgId });
    const toWorkspace = await world.add(owner, workspace.id, { email: 'b@x.org', anyAccount: true });
    expect(await outcome(world.accept(outsider, toWorkspace.inviteUrl))).toBe('email_domain_not_allowed');

    await allow();
    const byId = await world.invite(owner, orgId, { userId: outsider.userId });
    const { caller: member } = await world.join(owner, orgId, OrgRole.MEMBER);
    const verified = world.person();
    await world.invite(owner, orgId, { email: verified.userEmail });
    await allow('x.org');
    expect(await outcome(world.accept(outsider, byId.inviteUrl))).toBe('email_domain_not_allowed');
    const { userId, userName, userEmail: email } = verified;
    const proven = { email, userId, userName };
    expect(await world.directory.acceptVerifiedAddress(proven, await world.system())).toEqual({ accepted: 0 });
    // An existing member stays a member, and joins the workspaces.
    expect(await outcome(world.accept(member, toWorkspace.inviteUrl))).toBe('ok');
    expect(await outcome(world.accept({ ...outsider, userEmail: 'o@x.org' }, inviteUrl))).toBe('ok');
  });

  test('checks again on acceptance whether the Org allows guests from outside', async () => {
    const allow = (allowExternalSharing: boolean) =>
      world.updateOrg(owner, orgId, {
        updateMask: ['settings.allow_external_sharing'],
        settings: { allowExternalSharing },
      });
    const workspace = await world.createWorkspace(owner, { orgId });
    const { caller: member } = await world.join(owner, orgId, OrgRole.MEMBER);
    const [guest, colleague] = [world.person(), world.person()];
    const invited = await world.add(owner, workspace.id, { email: guest.userEmail });
    const toMember = await world.add(owner, workspace.id, { email: 'any@x.org', anyAccount: true });
    const byOrg = await world.invite(owner, orgId, { email: colleague.userEmail });
    await allow(false);
    expect(await outcome(world.accept(guest, invited.inviteUrl))).toBe('external_sharing_disabled');
    const { userId, userName, userEmail: email } = guest;
    expect(await world.directory.acceptVerifiedAddress({ email, userId, userName }, await world.system())).toEqual({
      accepted: 0,
    });
    // People whom the Org itself has invited, and its members, are not from outside.
    expect(await outcome(world.accept(member, toMember.inviteUrl))).toBe('ok');
    expect(await outcome(world.accept(colleague, byOrg.inviteUrl))).toBe('ok');
    await allow(true);
    expect(await outcome(world.accept(guest, invited.inviteUrl))).toBe('ok');
  });

  test("an invitation by id hides the person's address until they accept", async () => {
    const person = world.person();
    const invited = await world.invite(owner, orgId, { userId: person.userId });
    expect(JSON.stringify(invited)).not.toContain(person.userEmail);
    expect(JSON.stringify(await members({ status: OrgMemberStatus.INVITED }))).not.toContain(person.userEmail);
    expect(await members({ q: person.userEmail.slice(0, 8) })).toEqual([]);
    await world.accept(person, invited.inviteUrl);
    expect(await members({ q: person.userEmail })).toMatchObject([{ email: person.userEmail }]);

    const other = world.person();
    const { id: memberId } = await world.invite(owner, orgId, { userId: other.userId });
    const removal = { orgId, memberId, transferToMemberId: undefined };
    await world.orgs.removeOrgMember(removal, await world.as(owner));
    expect(JSON.stringify(await members({ status: OrgMemberStatus.REMOVED }))).not.toContain(other.userEmail);
  });

  test('a replayed response omits the link, and the token is not stored', async () => {
    const metadata = { idempotency: { id: fingerprint('k', orgId), fingerprint: 'f' } };
    const request = AddOrgMemberRequest.fromPartial({ orgId, email: 'once@x.org' });
    const first = await world.orgs.addOrgMember(request, await world.as(owner, metadata));
    const reply: Reply = {};
    const second = await world.orgs.addOrgMember(request, await world.as(owner, metadata, reply));
    expect(second).toEqual({ ...first, inviteUrl: undefined });
    expect(reply.warnings).toMatchObject([{ code: 'secret_not_replayed' }]);
    const all = await world.host.store.collection(invitationCollection);
    const kept = await all.find({ where: { tenant: orgId }, limit: 10 });
    expect(JSON.stringify(kept)).not.toContain(tokenOf(first.inviteUrl));
  });
});

describe('to a workspace', () => {
  test('makes an address from outside a guest of the Org', async () => {
    const workspace = await world.createWorkspace(owner, { orgId });
    const invited = await world.add(owner, workspace.id, { email: 'out@side.org', role: WorkspaceRole.EDITOR });
    expect(invited).toMatchObject({
      status: WorkspaceMemberStatus.INVITED,
      principal: { id: undefined, name: undefined, email: 'out@side.org' },
    });
    expect(await members({ status: OrgMemberStatus.INVITED })).toMatchObject([
      { email: 'out@side.org', role: OrgRole.GUEST },
    ]);
    const person = world.person();
    expect(await world.accept(person, invited.inviteUrl)).toEqual({ orgId, workspaceId: workspace.id });
    const memberships = await world.directory.getMemberships({ userId: person.userId }, await world.system());
    expect(memberships).toMatchObject({
      orgs: [{ orgId, role: OrgRole.GUEST }],
      workspaces: [{ workspaceId: workspace.id, role: WorkspaceRole.EDITOR }],
    });
  });

  test('is refused if the Org disables external sharing, or does not allow the domain', async () => {
    const workspace = await world.createWorkspace(owner, { orgId });
    const settings = (names: string[], values: object) =>
      world.updateOrg(owner, orgId, { updateMask: names.map((name) => `settings.${name}`), settings: values });
    await settings(['allowed_email_domains'], { allowedEmailDomains: ['x.org'] });
    expect(await outcome(world.add(owner, workspace.id, { email: 'a@y.org' }))).toBe('invalid_value');
    await settings(['allow_external_sharing', 'allowed_email_domains'], { allowExternalSharing: false });
    expect(await outcome(world.add(owner, workspace.id, { email: 'a@x.org' }))).toBe('external_sharing_disabled');
    const { caller } = await world.join(owner, orgId, OrgRole.MEMBER);
    expect(await outcome(world.add(owner, workspace.id, { email: caller.userEmail }))).toBe('ok');
    await world.invite(owner, orgId, { email: 'colleague@x.org' });
    expect(await outcome(world.add(owner, workspace.id, { email: 'colleague@x.org' }))).toBe('ok');
  });

  test("passes on neither an offer of the Org itself, nor an owner's link", async () => {
    const { caller: manager } = await world.join(owner, orgId, OrgRole.MEMBER);
    const workspace = await world.createWorkspace(manager, { orgId });
    const before = await world.add(manager, workspace.id, { email: 'boss@x.org' });
    const crowned = await world.invite(owner, orgId, { email: 'boss@x.org', role: OrgRole.OWNER });
    const intruder = world.person();
    await world.accept(intruder, before.inviteUrl);
    const after = await world.add(manager, workspace.id, { email: 'boss@x.org' });
    const second = world.person();
    await world.accept(second, after.inviteUrl);
    for (const { userId } of [intruder, second]) {
      const { orgs } = await world.directory.getMemberships({ userId }, await world.system());
      expect(orgs).toMatchObject([{ role: OrgRole.GUEST }]);
    }
    await world.accept(second, crowned.inviteUrl);
    const { orgs } = await world.directory.getMemberships({ userId: second.userId }, await world.system());
    expect(orgs).toMatchObject([{ role: OrgRole.OWNER }]);
    expect((await world.getWorkspace(manager, workspace.id)).counts?.members).toBe(3);

    const { caller: admin } = await world.join(owner, orgId, OrgRole.MEMBER);
    await world.put(manager, workspace.id, admin, WorkspaceRole.ADMIN);
    await world.add(manager, workspace.id, { email: 'next@x.org', role: WorkspaceRole.OWNER });
    expect(await outcome(world.add(admin, workspace.id, { email: 'next@x.org' }))).toBe('insufficient_role');
    const orgAdmin = (await world.join(owner, orgId, OrgRole.ADMIN)).caller;
    await world.invite(owner, orgId, { email: 'king@x.org', role: OrgRole.OWNER });
    expect(await outcome(world.invite(orgAdmin, orgId, { email: 'king@x.org' }))).toBe('insufficient_role');
  });

  test('accepted by a member of the Org, leaves no pending guest', async () => {
    const workspace = await world.createWorkspace(owner, { orgId });
    const { caller } = await world.join(owner, orgId, OrgRole.MEMBER);
    const { inviteUrl } = await world.add(owner, workspace.id, { email: 'other@address.org' });
    await world.accept(caller, inviteUrl);
    expect(await members()).toHaveLength(2);
    expect((await world.getWorkspace(caller, workspace.id)).role).toBe(WorkspaceRole.VIEWER);
  });

  test('revoking it removes the pending guest', async () => {
    const first = await world.createWorkspace(owner, { orgId });
    const second = await world.createWorkspace(owner, { orgId });
    const one = await world.add(owner, first.id, { email: 'out@side.org' });
    const two = await world.add(owner, second.id, { email: 'out@side.org' });
    const drop = async (workspaceId: string, memberId: string | undefined) =>
      world.workspaces.removeWorkspaceMember(
        { workspaceId, memberId: memberId ?? '', keepGrants: false },
        await world.as(owner),
      );
    await drop(first.id, one.id);
    expect(await members()).toHaveLength(2);
    await drop(second.id, two.id);
    expect(await members()).toHaveLength(1);
    expect(await outcome(world.accept(world.person(), two.inviteUrl))).toBe('not_found');
  });

  test('removing the guest from the Org removes all their offers', async () => {
    const workspace = await world.createWorkspace(owner, { orgId });
    const invited = await world.add(owner, workspace.id, { email: 'out@side.org' });
    const [guest] = await members({ status: OrgMemberStatus.INVITED });
    await world.orgs.removeOrgMember(
      { orgId, memberId: guest?.id ?? '', transferToMemberId: undefined },
      await world.as(owner),
    );
    expect(await outcome(world.accept(world.person(), invited.inviteUrl))).toBe('not_found');
    const listed = await world.workspaces.listWorkspaceMembers(
      ListWorkspaceMembersRequest.fromPartial({ workspaceId: workspace.id, page: page() }),
      await world.as(owner),
    );
    expect(listed.items).toHaveLength(1);
  });

  test('in a Personal workspace, an address is invited and a registered person joins at once', async () => {
    const workspace = await world.createWorkspace(owner);
    const friend = world.person();
    const reply: Reply = {};
    const invited = await world.add(owner, workspace.id, { email: friend.userEmail });
    expect(invited.status).toBe(WorkspaceMemberStatus.INVITED);
    const again = await world.add(owner, workspace.id, { email: friend.userEmail, role: WorkspaceRole.EDITOR }, reply);
    expect([again.id, again.role, reply.status]).toEqual([invited.id, WorkspaceRole.EDITOR, 200]);
    const joined = await world.add(owner, workspace.id, { userId: friend.userId });
    expect(joined).toMatchObject({ status: WorkspaceMemberStatus.ACTIVE, role: WorkspaceRole.VIEWER });
    expect(joined.principal).toMatchObject({ id: friend.userId, email: undefined });
    expect(await outcome(world.accept(friend, again.inviteUrl))).toBe('not_found');
    expect(await outcome(world.add(owner, workspace.id, { userId: friend.userId }))).toBe('already_member');
    expect(await outcome(world.add(owner, workspace.id, { email: friend.userEmail }))).toBe('already_member');
  });
});

describe('by a verified address', () => {
  test('accepts everything that is open for it, and nothing else', async () => {
    const first = await world.createWorkspace(owner, { orgId });
    const second = await world.createWorkspace(owner, { orgId });
    const personal = await world.createWorkspace(owner);
    const email = 'verified@x.org';
    for (const { id } of [first, second, personal]) await world.add(owner, id, { email });
    await world.invite(owner, orgId, { email, role: OrgRole.MEMBER });
    await world.add(owner, personal.id, { email: 'somebody@else.org' });
    const { userId } = world.person();
    const accept = async () =>
      world.directory.acceptVerifiedAddress({ email: 'Verified@X.org', userId, userName: 'V' }, await world.system());
    expect(await accept()).toEqual({ accepted: 4 });
    expect(await accept()).toEqual({ accepted: 0 });
    const { orgs, workspaces } = await world.directory.getMemberships({ userId }, await world.system());
    expect(orgs).toMatchObject([{ orgId, role: OrgRole.MEMBER }]);
    expect(workspaces.map(({ workspaceId }) => workspaceId).sort()).toEqual([first.id, second.id, personal.id].sort());
    expect(await members()).toHaveLength(2);
  });
});
