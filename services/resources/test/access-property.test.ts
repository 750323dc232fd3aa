import { existsSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '@commonplace/kit/auth';
import { effort } from '@commonplace/kit/testing';
import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { type Command, commands, perform, type Run, roleOf } from './access-commands.js';
import { greatest, Model, type ModelNode, type Person, principalsOf } from './access-model.js';
import { admits } from './admits.js';
import { playClock } from './clock.js';
import { openSharingStage, type SharingStage } from './sharing-stage.js';

const MEMORY = '/dev/shm';
const RUNS = effort(150);
const SEED = process.env.COMMONPLACE_TEST_SEED;

const BOSS: Person = { name: 'boss', inOrg: true, roles: { 0: 'owner', 1: 'owner' } };
const PEOPLE: readonly Person[] = [
  BOSS,
  { name: 'admin', inOrg: true, roles: { 0: 'manager' } },
  { name: 'editor', inOrg: true, roles: { 0: 'editor', 1: 'guest' }, groups: ['builders'] },
  { name: 'viewer', inOrg: true, roles: { 1: 'viewer' }, groups: ['readers'] },
  { name: 'member', inOrg: true, roles: {}, groups: ['builders', 'readers'] },
  { name: 'stranger', inOrg: false, roles: {}, groups: ['builders'] },
];

const GROUPS = ['builders', 'readers'];

const PLACES = {
  owner: WorkspaceRole.OWNER,
  manager: WorkspaceRole.ADMIN,
  editor: WorkspaceRole.EDITOR,
  commenter: WorkspaceRole.COMMENTER,
  viewer: WorkspaceRole.VIEWER,
  guest: WorkspaceRole.GUEST,
};

let stage: SharingStage;
beforeAll(async () => {
  // This test does not need thousands of synced writes, so it runs in memory if the system has a folder there.
  stage = await openSharingStage(existsSync(MEMORY) ? MEMORY : undefined);
  // Only the clock is fake, so that grants can expire; everything else is real.
  playClock();
});
afterAll(async () => {
  jest.useRealTimers();
  await stage.stage.close();
});

test('the service agrees with the specification about access', async () => {
  let taken = 0;
  let readable = 0;
  const property = fc.asyncProperty(commands, async (sequence) => {
    const run = await playRun(sequence);
    taken += run.taken;
    readable += await compare(run);
  });
  await fc.assert(property, { numRuns: RUNS, ...(SEED === undefined ? {} : { seed: Number(SEED) }) });
  // Runs that do nothing, or in which nobody sees anything, would prove nothing.
  expect(taken).toBeGreaterThan(RUNS * 4);
  expect(readable).toBeGreaterThan(RUNS * 4);
}, 600_000);

async function playRun(sequence: readonly Command[]): Promise<Run> {
  const { tenancy } = stage;
  tenancy.clear();
  const org = tenancy.org();
  const workspaces = [tenancy.workspace(org), tenancy.workspace(org)];
  const people = new Map<Person, Caller>();
  for (const person of PEOPLE) {
    const caller = tenancy.person(person.name);
    people.set(person, caller);
    if (person.inOrg) org.roles.set(caller.userId, OrgRole.MEMBER);
    for (const [number, role] of Object.entries(person.roles)) {
      workspaces[Number(number)]?.roles.set(caller.userId, PLACES[role]);
    }
  }
  const groups = GROUPS.map((name) => {
    const members = [...people].filter(([person]) => person.groups?.includes(name)).map(([, caller]) => caller);
    return [name, tenancy.group(org, ...members).id] as const;
  });
  const run = {
    stage,
    model: new Model(),
    people,
    boss: people.get(BOSS) as Caller,
    bossPerson: BOSS,
    orgId: org.id,
    workspaceIds: workspaces.map(({ id }) => id),
    groups: new Map(groups),
    taken: 0,
    names: new Map(),
  };
  for (const command of sequence) await perform(run, command);
  return run;
}

/** Compares all answers of the service with the model. Returns the number of readable nodes. */
async function compare(run: Run): Promise<number> {
  const { model } = run;
  const now = Date.now();
  const ids = model.nodes.map(({ id }) => id);
  const { entries } = await stage.index.getIndexEntries({ ids, mostBytes: 0 }, await stage.stage.as(undefined));
  agree(entries.map(({ id }) => id).sort(), model.live.map(({ id }) => id).sort());
  let readable = 0;
  for (const [person, caller] of run.people) {
    const roles = new Map(model.live.map((node) => [node, model.effective(node, person, now)]));
    const seen = [...roles].filter(([, role]) => role !== undefined).map(([node]) => node);
    readable += seen.length;
    await compareReads(person, caller, roles);
    const options = await stage.stage.as(caller);
    const { resources } = await stage.index.checkAccess({ ids }, options);
    agree(
      namedPairs(person, 'check', resources, ({ id, role }) => [id, roleOf(role)]),
      namedPairs(person, 'check', seen, (node) => [node.id, roles.get(node)]),
    );
    for (const [number, workspaceId] of run.workspaceIds.entries()) {
      const here = seen.filter((node) => model.workspaceOf(node) === number).map(({ id }) => id);
      await compareLists(run, person, caller, workspaceId, here);
      const admitted = await found(caller, workspaceId, entries);
      agree([person.name, 'search', admitted], [person.name, 'search', here.sort()]);
    }
  }
  await comparePermissions(run, now);
  return readable;
}

/** Compares like `expect`, which would record its call site each of the hundred thousand times. */
function agree(shown: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(shown, expected)) expect(shown).toEqual(expected);
}

/** Returns sorted pairs with the person's name, so that a difference is readable. */
function namedPairs<T>(person: Person, what: string, all: readonly T[], pair: (one: T) => [string, unknown]) {
  return [person.name, what, all.map(pair).sort(([a], [b]) => (a < b ? -1 : 1))];
}

async function compareReads(person: Person, caller: Caller, roles: ReadonlyMap<ModelNode, unknown>): Promise<void> {
  const read: [string, unknown][] = [];
  for (const { id } of roles.keys()) {
    const role = await stage.get(caller, id).then(
      ({ access }) => roleOf(access?.role),
      (error: { code: string }) => (error.code === 'NOT_FOUND' ? undefined : error.code),
    );
    read.push([id, role]);
  }
  const expected = [...roles].map(([{ id }, role]) => [id, role]);
  agree([person.name, 'get', read], [person.name, 'get', expected]);
}

async function compareLists(
  { model }: Run,
  person: Person,
  caller: Caller,
  workspaceId: string,
  expected: readonly string[],
): Promise<void> {
  const ask = (fields: object) =>
    stage.list(caller, workspaceId, fields).catch((error: { reason: string }) => {
      // A caller without membership in a workspace who sees nothing in it does not see the workspace.
      if (error.reason !== 'not_found' || expected.length > 0) throw error;
      return { ids: [], total: 0 };
    });
  const listed = await ask({});
  const all = [...expected].sort();
  agree([person.name, 'list', listed], [person.name, 'list', { ids: all, total: all.length }]);
  agree([person.name, 'count', await stage.count(caller, workspaceId)], [person.name, 'count', all.length]);
  const parent = model.live.find(({ id }) => all.includes(id) && model.nodes.some((one) => one.parent?.id === id));
  if (parent === undefined) return;
  const children = model.live.filter((one) => one.parent === parent && all.includes(one.id)).map(({ id }) => id);
  const shown = await ask({ parentId: parent.id });
  agree([person.name, 'children', shown], [person.name, 'children', { ids: children.sort(), total: children.length }]);
}

/** Returns what a search in a workspace would find with the filter that the service returns. */
async function found(caller: Caller, workspaceId: string, entries: readonly IndexEntry[]): Promise<string[]> {
  const filter = await stage.filter(caller, [workspaceId]).catch((error: { reason: string }) => {
    if (error.reason !== 'not_found') throw error;
    return undefined;
  });
  return filter === undefined
    ? []
    : entries
        .filter((entry) => admits(filter, entry))
        .map(({ id }) => id)
        .sort();
}

/** Checks that a node's permissions, combined for each person, give the person's role. */
async function comparePermissions(run: Run, now: number): Promise<void> {
  const { model, people, boss } = run;
  const nameOf = new Map<string | undefined, string>([
    [run.orgId, 'org'],
    ...[...(run.groups ?? [])].map(([name, id]): [string, string] => [id, name]),
    ...run.workspaceIds.map((id, number): [string, string] => [id, `workspace ${number}`]),
    ...[...people].map(([{ name }, { userId }]): [string, string] => [userId, name]),
  ]);
  for (const node of model.live.slice(-2)) {
    const { items } = await stage.view(boss, node.id);
    const inOrg = [...people.keys()].filter((person) => person.inOrg);
    const shown = inOrg.map((person) => {
      const names = principalsOf(person);
      const lines = items.filter(({ principal }) => names.includes(nameOf.get(principal?.id) ?? ''));
      const direct = lines.filter(({ isInherited }) => !isInherited).map((line) => roleOf(line.role));
      return [person.name, 'permissions', greatest(lines.map((line) => roleOf(line.role))), direct.sort()];
    });
    const expected = inOrg.map((person) => [
      person.name,
      'permissions',
      model.effective(node, person, now),
      model.direct(node, person, now).sort(),
    ]);
    agree(shown, expected);
  }
}
