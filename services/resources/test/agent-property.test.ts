import { existsSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { AGENT_SCOPES, type AgentRole, type Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { effort } from '@commonplace/kit/testing';
import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { GranteeType } from '@commonplace/proto/resources/v1/permission.js';
import { AccessMode, ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { type Command, commands, perform, type Run, roleOf } from './access-commands.js';
import { type Agent, least, Model, type ModelNode, type Person, ROLES, type Role } from './access-model.js';
import { admits } from './admits.js';
import { playClock } from './clock.js';
import { openSharingStage, type SharingStage } from './sharing-stage.js';

const MEMORY = '/dev/shm';
const RUNS = effort(40);
const SEED = process.env.COMMONPLACE_TEST_SEED;

const BOSS: Person = { name: 'boss', inOrg: true, roles: { 0: 'owner', 1: 'owner' } };
const AGENT_NAMES = ['writer', 'helper'];

const PLACES = {
  owner: WorkspaceRole.OWNER,
  manager: WorkspaceRole.ADMIN,
  editor: WorkspaceRole.EDITOR,
  commenter: WorkspaceRole.COMMENTER,
  viewer: WorkspaceRole.VIEWER,
  guest: WorkspaceRole.GUEST,
};

interface World {
  readonly roles: readonly (readonly (Role | 'guest' | undefined)[])[];
  readonly agents: readonly (readonly (AgentRole | undefined)[])[];
  readonly commands: readonly Command[];
}

const place = fc.constantFrom(undefined, 'guest', ...ROLES) as fc.Arbitrary<Role | 'guest' | undefined>;
const agentPlace = fc.constantFrom(undefined, 'viewer', 'commenter', 'editor', 'editor') as fc.Arbitrary<
  AgentRole | undefined
>;
const worlds: fc.Arbitrary<World> = fc.record({
  roles: fc.array(fc.tuple(place, place), { minLength: 2, maxLength: 2 }),
  agents: fc.array(fc.tuple(agentPlace, agentPlace), { minLength: 2, maxLength: 2 }),
  commands,
});

let stage: SharingStage;
beforeAll(async () => {
  stage = await openSharingStage(existsSync(MEMORY) ? MEMORY : undefined);
  playClock();
});
afterAll(async () => {
  jest.useRealTimers();
  await stage.stage.close();
});

test('an agent may do only what both it and the person may', async () => {
  let allowed = 0;
  let limited = 0;
  const property = fc.asyncProperty(worlds, async (world) => {
    const met = await play(world);
    allowed += met.allowed;
    limited += met.limited;
  });
  await fc.assert(property, { numRuns: RUNS, ...(SEED === undefined ? {} : { seed: Number(SEED) }) });
  // Runs in which nothing is allowed, or in which neither limits the other, would prove nothing.
  expect(allowed).toBeGreaterThan(RUNS);
  expect(limited).toBeGreaterThan(RUNS);
}, 600_000);

interface Met {
  readonly allowed: number;
  /** Nodes on which the agent may do less than the person. */
  readonly limited: number;
}

async function play(world: World): Promise<Met> {
  const { tenancy } = stage;
  tenancy.clear();
  const org = tenancy.org();
  const workspaces = [tenancy.workspace(org), tenancy.workspace(org)];
  const people = new Map<Person, Caller>();
  const rolesOf = (row: readonly (Role | 'guest' | undefined)[]) =>
    Object.fromEntries([...row.entries()].filter(([, role]) => role !== undefined)) as Person['roles'];
  const all = [BOSS, ...world.roles.map((row, i): Person => ({ name: `p${i}`, inOrg: true, roles: rolesOf(row) }))];
  for (const person of all) {
    const caller = tenancy.person(person.name);
    people.set(person, caller);
    org.roles.set(caller.userId, OrgRole.MEMBER);
    for (const [number, role] of Object.entries(person.roles)) {
      workspaces[Number(number)]?.roles.set(caller.userId, PLACES[role]);
    }
  }
  const agents = new Map(AGENT_NAMES.map((name) => [name, newId()]));
  const run: Run = {
    ...{ stage, model: new Model(), people, boss: people.get(BOSS) as Caller, bossPerson: BOSS, orgId: org.id },
    ...{ workspaceIds: workspaces.map(({ id }) => id), agents, taken: 0, names: new Map() },
  };
  for (const command of world.commands) await perform(run, command);
  let allowed = 0;
  let limited = 0;
  const ids = run.model.live.map(({ id }) => id);
  const { entries } = await stage.index.getIndexEntries({ ids, mostBytes: 0 }, await stage.stage.as(undefined));
  for (const [person, caller] of people) {
    for (const [i, row] of world.agents.entries()) {
      const agent: Agent = { name: AGENT_NAMES[i] as string, roles: rolesOf(row) as Agent['roles'] };
      const acting = actingAs(caller, agent, run);
      const met = await compare({ run, person, caller: acting, agent, entries });
      allowed += met.allowed;
      limited += met.limited;
    }
  }
  // An automation may do only what both the person whose rights it has and its author may.
  for (const [person, caller] of people) {
    for (const [author, { userId: authorId }] of people) {
      if (author === person) continue;
      const met = await compareReads({ run, person, caller: { ...caller, authorId }, author, entries });
      allowed += met.allowed;
      limited += met.limited;
      for (const [i, row] of world.agents.entries()) {
        const agent: Agent = { name: AGENT_NAMES[i] as string, roles: rolesOf(row) as Agent['roles'] };
        const acting = { ...actingAs(caller, agent, run), authorId };
        await compareReads({ run, person, caller: acting, author, agent, entries });
      }
    }
  }
  return { allowed, limited };
}

function actingAs(caller: Caller, { name, roles }: Agent, { workspaceIds, agents }: Run): Caller {
  const entries = Object.entries(roles).map(([number, role]) => [workspaceIds[Number(number)], role] as const);
  return {
    ...caller,
    credential: { type: 'internal', id: `act_${name}`, scopes: AGENT_SCOPES },
    agent: { id: agents?.get(name) as string, name, roles: Object.fromEntries(entries) },
  };
}

interface Acting {
  readonly run: Run;
  readonly person: Person;
  readonly caller: Caller;
  readonly agent: Agent;
  readonly entries: readonly IndexEntry[];
}

async function compare(acting: Acting): Promise<Met> {
  const { run, person, caller, agent, entries } = acting;
  const { model } = run;
  const now = Date.now();
  const who = `${person.name} by ${agent.name}`;
  const roles = new Map(model.live.map((node) => [node, model.together(node, person, agent, now)]));
  const seen = [...roles].filter(([, role]) => role !== undefined).map(([node]) => node);

  const options = await stage.stage.as(caller);
  const { resources } = await stage.index.checkAccess({ ids: model.live.map(({ id }) => id) }, options);
  agree(
    [who, 'check', resources.map(({ id, role }) => [id, roleOf(role)]).sort()],
    [who, 'check', seen.map((node) => [node.id, roles.get(node)]).sort()],
  );
  for (const [node, role] of roles) await compareActions(acting, node, role, who);
  for (const [number, workspaceId] of run.workspaceIds.entries()) {
    const here = seen.filter((node) => model.workspaceOf(node) === number).map(({ id }) => id);
    await compareLists(caller, workspaceId, here.sort(), entries, who);
    const place = person.roles[number];
    const atRoot = least([place === 'guest' ? undefined : place, agent.roles[number]]);
    await agreeAct(who, 'create at the root', atRoot === 'editor', async () => {
      const { id } = await stage.create(caller, { workspaceId });
      await stage.resources.deleteResource({ resourceId: id }, await stage.stage.as(run.boss));
    });
  }
  const limited = [...roles].filter(([node, role]) => role !== model.effective(node, person, now)).length;
  return { allowed: seen.length, limited };
}

interface Shared extends Omit<Acting, 'agent'> {
  readonly author: Person;
  readonly agent?: Agent;
}

/** Compares the access of a caller whom an author limits with the lesser of the two, and of the agent's. */
async function compareReads({ run, person, caller, author, agent, entries }: Shared): Promise<Met> {
  const { model } = run;
  const now = Date.now();
  const who = `${person.name} by ${agent?.name ?? 'an automation'} of ${author.name}`;
  const roles = model.live.map((node) => {
    const own = agent === undefined ? model.effective(node, person, now) : model.together(node, person, agent, now);
    return { node, role: least([own, model.effective(node, author, now)]) };
  });
  const seen = roles.filter(({ role }) => role !== undefined);
  const ids = model.live.map(({ id }) => id);
  const { resources } = await stage.index.checkAccess({ ids }, await stage.stage.as(caller));
  agree(
    [who, 'check', resources.map(({ id, role }) => [id, roleOf(role)]).sort()],
    [who, 'check', seen.map(({ node, role }) => [node.id, role]).sort()],
  );
  for (const [number, workspaceId] of run.workspaceIds.entries()) {
    const here = seen.filter(({ node }) => model.workspaceOf(node) === number).map(({ node }) => node.id);
    await compareLists(caller, workspaceId, here.sort(), entries, who);
  }
  const limited = roles.filter(({ node, role }) => role !== model.effective(node, person, now)).length;
  return { allowed: seen.length, limited };
}

/** Tries what each role allows first, and what no agent may do. */
async function compareActions({ run, caller }: Acting, node: ModelNode, role: Role | undefined, who: string) {
  const shown = await stage.get(caller, node.id).then(
    ({ access }) => roleOf(access?.role),
    () => undefined,
  );
  agree([who, 'get', shown], [who, 'get', role]);
  const fields = { updateMask: ['description'], description: 'x' };
  await agreeAct(who, 'write', role === 'editor', () => stage.update(caller, node.id, fields));
  const grant = { principalType: GranteeType.USER, principalId: run.boss.userId, role: ResourceRole.VIEWER };
  await agreeAct(who, 'share', false, () => stage.grant(caller, node.id, grant));
  await agreeAct(who, 'lock', false, () =>
    stage.update(caller, node.id, { updateMask: ['is_locked'], isLocked: true }),
  );
  const accessMode = AccessMode.RESTRICTED;
  await agreeAct(who, 'restrict', false, () => stage.create(caller, { parentId: node.id, accessMode }));
}

async function compareLists(
  caller: Caller,
  workspaceId: string,
  expected: readonly string[],
  entries: readonly IndexEntry[],
  who: string,
): Promise<void> {
  const listed = await stage.list(caller, workspaceId).catch(() => ({ ids: [], total: 0 }));
  agree([who, 'list', listed], [who, 'list', { ids: expected, total: expected.length }]);
  agree([who, 'count', await stage.count(caller, workspaceId)], [who, 'count', expected.length]);
  const filter = await stage.filter(caller, [workspaceId]).catch(() => undefined);
  const found = filter === undefined ? [] : entries.filter((entry) => admits(filter, entry)).map(({ id }) => id);
  agree([who, 'search', found.sort()], [who, 'search', expected]);
}

async function agreeAct(who: string, what: string, expected: boolean, act: () => Promise<unknown>): Promise<void> {
  const done = await act().then(
    () => true,
    ({ code, reason }: { code: string; reason: string }) => {
      const isRefusal = code === 'PERMISSION_DENIED' || code === 'NOT_FOUND' || code === 'ABORTED';
      return isRefusal ? false : `${code} ${reason}`;
    },
  );
  agree([who, what, done], [who, what, expected]);
}

/** Compares like `expect`, which would record its call site each of the hundred thousand times. */
function agree(shown: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(shown, expected)) expect(shown).toEqual(expected);
}
