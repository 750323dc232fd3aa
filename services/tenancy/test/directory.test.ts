import { derivedId, newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { WorkspaceState } from '@commonplace/proto/tenancy/v1/workspace.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runPurge } from '../src/jobs/purge.js';
import { openWorld, openWorldParts, type World } from './world.js';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason: string }) => error.reason,
  );
const DAY = 86_400_000;

describe('the default Personal workspace', () => {
  test("is created once, even by concurrent requests, with an id derived from the person's", async () => {
    const person = world.person();
    const { userId, userName, userEmail } = person;
    const ensure = async () =>
      world.directory.ensurePersonalWorkspace({ userId, userName, userEmail }, await world.system());
    const made = await Promise.all(Array.from({ length: 5 }, ensure));
    const workspaceId = derivedId(`personal-workspace:${userId}`);
    for (const one of [...made, await ensure()]) {
      expect(one).toEqual({
        workspaceId,
        orgId: '',
        name: 'Personal',
        state: WorkspaceState.ACTIVE,
        trashRetentionDays: 30,
      });
    }
    const { items } = await world.listWorkspaces(person);
    expect(items).toMatchObject([{ id: workspaceId, role: WorkspaceRole.OWNER, slug: 'personal' }]);
    expect((await world.createWorkspace(person, { name: 'Personal' })).slug).toMatch(/^personal-/);
  });
});

describe('memberships', () => {
  test('include every place of a person, with the greater of two roles', async () => {
    const owner = world.person();
    const org = await world.createOrg(owner, {
      name: 'O',
      settings: { maxKeyLifetimeDays: 9, allowExternalSharing: false, approvalsByKey: true },
    });
    const { caller } = await world.join(owner, org.id, OrgRole.MEMBER);
    const make = (name: string, defaultRole?: WorkspaceRole) =>
      world.createWorkspace(owner, { orgId: org.id, name, defaultRole });
    await make('closed');
    const open = await make('open', WorkspaceRole.COMMENTER);
    const both = await make('both', WorkspaceRole.VIEWER);
    await world.put(owner, both.id, caller, WorkspaceRole.EDITOR);
    const archived = await make('archived', WorkspaceRole.VIEWER);
    await world.archive(archived.id);
    const personal = await world.createWorkspace(caller, {
      settings: { editorsCanShare: true, trashRetentionDays: 5 },
    });
    const { orgs, workspaces } = await world.directory.getMemberships(caller, await world.system());
    expect(orgs).toEqual([
      {
        ...{ orgId: org.id, name: 'O', role: OrgRole.MEMBER, maxKeyLifetimeDays: 9, allowExternalSharing: false },
        ...{ agentApprovalMinimum: undefined, approvalsByKey: true },
      },
    ]);
    const byId = new Map(workspaces.map((one) => [one.workspaceId, one]));
    expect(byId.size).toBe(4);
    const kept = { trashRetentionDays: 30, withholdOnRevoke: false };
    const common = { orgId: org.id, archived: false, editorsCanShare: false, ...kept };
    expect(byId.get(open.id)).toEqual({ ...common, workspaceId: open.id, name: 'open', role: WorkspaceRole.COMMENTER });
    expect(byId.get(both.id)).toMatchObject({ role: WorkspaceRole.EDITOR });
    expect(byId.get(archived.id)).toMatchObject({ role: WorkspaceRole.VIEWER, archived: true });
    expect(byId.get(personal.id)).toEqual({
      workspaceId: personal.id,
      orgId: '',
      name: 'Workspace',
      role: WorkspaceRole.OWNER,
      archived: false,
      editorsCanShare: true,
      trashRetentionDays: 5,
      withholdOnRevoke: false,
    });
    expect(await world.directory.getMemberships({ userId: world.person().userId }, await world.system())).toMatchObject(
      {
        orgs: [],
        workspaces: [],
      },
    );
  });

  test('the list of allowed URLs is that of the Org, and empty for Personal tenants', async () => {
    const owner = world.person();
    const org = await world.createOrg(owner, { settings: { urlAllowlist: ['example.org'] } });
    const personal = await world.createWorkspace(owner);
    const listOf = async (tenant: string) => world.directory.getUrlAllowlist({ tenant }, await world.system());
    expect(await listOf(org.id)).toEqual({ entries: ['example.org'] });
    expect(await listOf(personal.id)).toEqual({ entries: [] });
  });

  test('lookups answer every caller, and return nothing for unknown ids', async () => {
    const owner = world.person();
    const org = await world.createOrg(owner, { name: 'Found' });
    const workspace = await world.createWorkspace(owner, { orgId: org.id });
    const options = await world.system();
    const summary = await world.directory.lookUpWorkspace({ workspaceId: workspace.id }, options);
    expect(summary).toMatchObject({ orgId: org.id, name: 'Workspace', trashRetentionDays: 30 });
    expect(await outcome(world.directory.lookUpWorkspace({ workspaceId: org.id }, options))).toBe('not_found');
  });
});

test('a workspace shows whether its template is still being copied, or could not be', async () => {
  const owner = world.person();
  const templateId = newId();
  world.play.templates[templateId] = 500;
  const { id, templateStatus } = await world.createWorkspace(owner, { templateId });
  const shown = [templateStatus];
  for (const failed of [true, false, true]) {
    expect(await world.directory.finishTemplate({ workspaceId: id, failed }, await world.system())).toEqual({
      found: true,
    });
    const { items } = await world.listWorkspaces(owner);
    shown.push(items.find((one) => one.id === id)?.templateStatus);
  }
  expect(shown).toEqual(['running', 'failed', 'completed', 'completed']);
});

describe('purging', () => {
  test('deletes an Org with all its data when it is due, and not before', async () => {
    const parts = await openWorldParts(world);
    const owner = world.person();
    const doomed = await world.createOrg(owner, { slug: 'doomed' });
    const kept = await world.createOrg(owner);
    const workspace = await world.createWorkspace(owner, { orgId: doomed.id });
    const { inviteUrl } = await world.add(owner, workspace.id, { email: 'out@side.org' });
    await world.join(owner, doomed.id, OrgRole.MEMBER);
    await world.orgs.deleteOrg({ orgId: doomed.id, confirm: undefined }, await world.as(owner));
    expect(await outcome(world.accept(world.person(), inviteUrl))).toBe('not_found');
    await runPurge(parts);
    world.wait(29 * DAY);
    await runPurge(parts);
    expect(await parts.orgs.records.get(doomed.id)).toBeDefined();
    world.wait(2 * DAY);
    expect(await runPurge(parts)).toBeGreaterThan(0);
    expect(await runPurge(parts)).toBe(0);
    expect(await parts.orgs.records.get(doomed.id)).toBeUndefined();
    expect(await parts.workspaces.ofOrg(doomed.id)).toEqual([]);
    expect(await parts.workspaceMembers.records.find({ where: { workspaceId: workspace.id }, limit: 1 })).toEqual([]);
    expect(await parts.orgMembers.records.count({ orgId: doomed.id })).toBe(0);
    expect(await parts.invitations.records.find({ where: { tenant: doomed.id }, limit: 1 })).toEqual([]);
    expect((await world.orgs.getOrg({ orgId: kept.id }, await world.as(owner))).id).toBe(kept.id);
    expect((await world.createOrg(owner, { slug: 'doomed' })).slug).toBe('doomed');
    await eventually(() => {
      const events = world.events
        .filter(({ type }) => type.endsWith('.purged'))
        .map(({ type, subject }) => [type, subject]);
      expect(events).toContainEqual(['commonplace.tenancy.workspace.purged', workspace.id]);
      expect(events).toContainEqual(['commonplace.tenancy.org.purged', doomed.id]);
    });
  });

  test('continues with other Orgs after one that fails', async () => {
    const parts = await openWorldParts(world);
    const owner = world.person();
    const orgs = [await world.createOrg(owner), await world.createOrg(owner)];
    for (const { id } of orgs) await world.orgs.deleteOrg({ orgId: id, confirm: undefined }, await world.as(owner));
    world.wait(31 * DAY);
    const [broken, other] = (await parts.orgs.toPurge(parts.now())).filter(({ id }) =>
      orgs.some((org) => org.id === id),
    );
    const ofOrg = (id: string) =>
      id === broken?.id ? Promise.reject(new Error('it is broken')) : parts.workspaces.ofOrg(id);
    await expect(runPurge({ ...parts, workspaces: { ...parts.workspaces, ofOrg } })).rejects.toThrow('it is broken');
    expect(await parts.orgs.records.get(other?.id ?? '')).toBeUndefined();
    await runPurge(parts);
    expect(await parts.orgs.records.get(broken?.id ?? '')).toBeUndefined();
  });
});
