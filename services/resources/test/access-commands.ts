import type { Caller } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import { CopyResourceRequest } from '@commonplace/proto/resources/v1/copy_service.js';
import { GranteeType } from '@commonplace/proto/resources/v1/permission.js';
import { AccessMode, ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import { ListResourcesRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import { expect, jest } from '@jest/globals';
import fc from 'fast-check';
import {
  type Model,
  type ModelNode,
  type ModelTerm,
  type Person,
  ROLES,
  type Role,
  roleNow,
  termsNow,
} from './access-model.js';
import type { SharingStage } from './sharing-stage.js';

/** A model and the service that must agree with it. */
export interface Run {
  readonly stage: SharingStage;
  readonly model: Model;
  readonly people: ReadonlyMap<Person, Caller>;
  /** The caller who runs the commands: owner of both workspaces. */
  readonly boss: Caller;
  readonly bossPerson: Person;
  readonly orgId: string;
  readonly workspaceIds: readonly string[];
  /** Agents that grants can name, by their names in the model. */
  readonly agents?: ReadonlyMap<string, string>;
  /** Groups that grants can name, by their names in the model. */
  readonly groups?: ReadonlyMap<string, string>;
  /** Number of commands that the service accepted, which shows how much a run covers. */
  taken: number;
  /** Names that distinguish siblings. */
  readonly names: Map<ModelNode, string>;
}

export type Command =
  | { readonly kind: 'create'; readonly parent: number; readonly restricted: boolean }
  | {
      readonly kind: 'grant';
      readonly node: number;
      readonly to: number;
      readonly role: number;
      readonly hours: number;
    }
  | { readonly kind: 'revoke'; readonly node: number; readonly to: number }
  | { readonly kind: 'restrict'; readonly node: number; readonly restricted: boolean }
  | { readonly kind: 'move'; readonly node: number; readonly parent: number }
  | { readonly kind: 'copy'; readonly node: number; readonly parent: number; readonly permissions: boolean }
  | { readonly kind: 'trash' | 'restore'; readonly node: number }
  | { readonly kind: 'wait'; readonly hours: number };

const index = fc.nat({ max: 11 });

/** Generates commands. Indices select nodes and principals, so that a shortened sequence still has a meaning. */
export const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('create'), parent: index, restricted: rarely() }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('grant'),
        node: index,
        to: index,
        role: fc.nat({ max: ROLES.length - 1 }),
        hours: fc.constantFrom(0, 0, 1, 3),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('revoke'), node: index, to: index }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('restrict'), node: index, restricted: fc.boolean() }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('move'), node: index, parent: index }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('copy'), node: index, parent: index, permissions: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('trash'), node: index }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restore'), node: index }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait'), hours: fc.constantFrom(1, 2) }) },
  ) as fc.Arbitrary<Command>,
  { minLength: 3, maxLength: 14 },
);

function rarely(): fc.Arbitrary<boolean> {
  return fc.nat({ max: 5 }).map((number) => number === 0);
}

export const HOUR_MS = 3_600_000;

const ROLE_MESSAGES: Record<Role, ResourceRole> = {
  viewer: ResourceRole.VIEWER,
  commenter: ResourceRole.COMMENTER,
  editor: ResourceRole.EDITOR,
  manager: ResourceRole.MANAGER,
  owner: ResourceRole.OWNER,
};

export function roleOf(message: ResourceRole | undefined): Role | undefined {
  return ROLES.find((role) => ROLE_MESSAGES[role] === message);
}

/** Error reasons with which the service may refuse a command; the model then stays unchanged. */
const REFUSALS = new Set([
  'cycle_detected',
  'insufficient_role',
  'last_owner',
  'not_found',
  'not_in_trash',
  'resource_in_trash',
  'role_escalation',
]);

/** Runs a command against the service, and applies it to the model if the service accepts it. */
export async function perform(run: Run, command: Command): Promise<void> {
  try {
    await PERFORM[command.kind](run, command as never);
    run.taken++;
  } catch (error) {
    if (!(error instanceof AppError) || !REFUSALS.has(error.reason)) throw error;
  }
}

type Performers = {
  readonly [K in Command['kind']]: (run: Run, command: Extract<Command, { kind: K }>) => Promise<void>;
};

const PERFORM: Performers = {
  async create(run, { parent, restricted }) {
    const { stage, model, boss } = run;
    const { node: above, workspace } = placeAt(run, parent);
    const accessMode = restricted ? AccessMode.RESTRICTED : AccessMode.INHERIT;
    const where = above === undefined ? { workspaceId: run.workspaceIds[workspace] } : { parentId: above.id };
    const name = nextName(run);
    const { id } = await stage.create(boss, { ...where, accessMode, name });
    const node = model.add(id, above, workspace, restricted);
    run.names.set(node, name);
    if (restricted) keepBoss(run, node);
  },
  async grant(run, { node: at, to, role: number, hours }) {
    const node = nodeAt(run, at);
    const target = principalAt(run, to);
    if (node === undefined) return;
    const role = ROLES[number] as Role;
    const expires = hours === 0 ? undefined : Date.now() + hours * HOUR_MS;
    const expiresAt = expires === undefined ? undefined : new Date(expires).toISOString();
    await run.stage.grant(run.boss, node.id, { ...target.fields, role: ROLE_MESSAGES[role], expiresAt });
    node.grants.set(target.name, [{ role, expires }]);
  },
  async revoke(run, { node: at, to }) {
    const node = nodeAt(run, at);
    if (node === undefined) return;
    const { name, fields } = principalAt(run, to);
    await run.stage.revoke(run.boss, node.id, fields).catch((error: AppError) => {
      if (error.reason !== 'inherited_permission') throw error;
    });
    node.grants.delete(name);
  },
  async restrict(run, { node: at, restricted }) {
    const node = nodeAt(run, at);
    if (node === undefined) return;
    const accessMode = restricted ? AccessMode.RESTRICTED : AccessMode.INHERIT;
    await run.stage.grant(run.boss, node.id, { accessMode });
    if (restricted && !node.restricted) keepBoss(run, node);
    node.restricted = restricted;
  },
  async move(run, { node: at, parent }) {
    const node = nodeAt(run, at);
    if (node === undefined) return;
    const { node: above, workspace } = placeAt(run, parent);
    const fields =
      above === undefined
        ? { updateMask: ['parent_id', 'workspace_id'], workspaceId: run.workspaceIds[workspace] }
        : { updateMask: ['parent_id'], parentId: above.id };
    await run.stage.update(run.boss, node.id, fields);
    node.parent = above;
    node.workspace = workspace;
  },
  async copy(run, { node: at, parent, permissions }) {
    const { stage, model } = run;
    const source = nodeAt(run, at);
    if (source === undefined) return;
    const below = model.below(source).filter(({ batch }) => batch === undefined);
    const keys = new Set(below.map((one) => `${one.parent?.id} ${run.names.get(one)}`));
    // Copies of siblings with the same name could not be distinguished.
    if (keys.size < below.length) return;
    const { node: above, workspace } = placeAt(run, parent);
    const name = nextName(run);
    const where = above === undefined ? { workspaceId: run.workspaceIds[workspace] } : { parentId: above.id };
    const request = { resourceId: source.id, name, includePermissions: permissions, ...where };
    const bossThere = above === undefined ? [{ role: 'owner' } as const] : bossTermsAt(run, above);
    const { resource, copiedCount } = await stage.copies.copyResource(
      CopyResourceRequest.fromPartial(request),
      await stage.stage.as(run.boss),
    );
    expect(copiedCount).toBe(1 + below.length);
    const id = resource?.id as string;
    const made = await belowOf(run, id, run.workspaceIds[workspace] as string);
    const head = copyOf(run, source, id, name, above, workspace, permissions, bossThere);
    head.restricted = permissions && source.restricted;
    if (!head.restricted && !permissions) head.grants.clear();
    const copies = new Map([[source, head]]);
    for (const one of below.sort((a, b) => model.chain(a).length - model.chain(b).length)) {
      const parentCopy = copies.get(one.parent as ModelNode) as ModelNode;
      const own = run.names.get(one) as string;
      const found = made.find((each) => each.parentId === parentCopy.id && each.name === own);
      copies.set(one, copyOf(run, one, found?.id as string, own, parentCopy, workspace, permissions, bossThere));
    }
  },
  async trash(run, { node: at }) {
    const node = nodeAt(run, at);
    if (node === undefined) return;
    await run.stage.resources.deleteResource({ resourceId: node.id }, await run.stage.stage.as(run.boss));
    run.model.trash(node);
  },
  async restore(run, { node: at }) {
    const trashed = run.model.nodes.filter(({ batch }) => batch !== undefined);
    const node = trashed[at % Math.max(1, trashed.length)];
    if (node === undefined) return;
    const request = { resourceId: node.id, parentId: undefined };
    await run.stage.trash.restoreResource(request, await run.stage.stage.as(run.boss));
    run.model.restore(node);
  },
  async wait(_, { hours }) {
    jest.setSystemTime(Date.now() + hours * HOUR_MS);
  },
};

async function belowOf({ stage, boss }: Run, parentId: string, workspaceId: string) {
  const page = { limit: 200, offset: 0, cursor: '' };
  const request = ListResourcesRequest.fromPartial({ workspaceId, parentId, recursive: true, page });
  return (await stage.resources.listResources(request, await stage.stage.as(boss))).items;
}

/** Returns the roles that the boss has on a node from now on, as long as only grants expire. */
function bossTermsAt({ model, bossPerson }: Run, node: ModelNode): ModelTerm[] {
  const terms = model.nodes.flatMap(({ grants }) => [...grants.values()].flat());
  const ends = [...new Set(terms.flatMap(({ expires }) => expires ?? []))]
    .filter((end) => end > Date.now())
    .sort((a, b) => a - b);
  const roles = [Date.now(), ...ends].map((now) => model.effective(node, bossPerson, now));
  return roles.flatMap((role, i) => (role === undefined ? [] : { role, expires: ends[i] }));
}

/** Returns when terms last give a role: undefined if they never give it, infinity if it does not end. */
function endOf(terms: readonly ModelTerm[], role: Role): number | undefined {
  const last = terms.findLast((term) => ROLES.indexOf(term.role) >= ROLES.indexOf(role));
  return last && (last.expires ?? Number.POSITIVE_INFINITY);
}

/**
 * Adds a copy to the model: as restricted as its source, with those grants of its source that the boss may give there,
 * if permissions are copied.
 */
function copyOf(
  run: Run,
  source: ModelNode,
  id: string,
  name: string,
  parent: ModelNode | undefined,
  workspace: number,
  permissions: boolean,
  bossThere: readonly ModelTerm[],
): ModelNode {
  const copy = run.model.add(id, parent, workspace, source.restricted);
  run.names.set(copy, name);
  for (const [principal, terms] of permissions ? source.grants : []) {
    const role = roleNow(terms, Date.now());
    if (role === undefined || endOf(bossThere, role) === undefined) continue;
    const within = termsNow(terms, Date.now()).map((term) => {
      const end = Math.min(term.expires ?? Number.POSITIVE_INFINITY, endOf(bossThere, term.role) as number);
      return { role: term.role, expires: end === Number.POSITIVE_INFINITY ? undefined : end };
    });
    copy.grants.set(principal, within);
  }
  if (copy.restricted) keepBoss(run, copy);
  return copy;
}

function nextName({ names }: Run): string {
  return `n${names.size}`;
}

/**
 * A caller who restricts a node stays a manager by a grant of their own, and keeps earlier grants until they expire.
 */
function keepBoss({ bossPerson }: Run, node: ModelNode): void {
  const { name } = bossPerson;
  node.grants.set(name, [...termsNow(node.grants.get(name) ?? [], Date.now()), { role: 'manager' }]);
}

function nodeAt({ model }: Run, number: number): ModelNode | undefined {
  const { live } = model;
  return live[number % Math.max(1, live.length)];
}

/** Returns a live node, or the root of one of the workspaces. */
function placeAt({ model }: Run, number: number): { node: ModelNode | undefined; workspace: number } {
  const { live } = model;
  const place = number % (live.length + 2);
  const node = live[place - 2];
  return { node, workspace: node === undefined ? place : model.workspaceOf(node) };
}

function principalAt(run: Run, number: number) {
  const people = [...run.people].filter(([{ inOrg }]) => inOrg);
  const workspaces = run.workspaceIds.map((id, at) => ({
    name: `workspace ${at}`,
    fields: { principalType: GranteeType.WORKSPACE, principalId: id },
  }));
  const all = [
    ...people.map(([{ name }, { userId }]) => ({
      name,
      fields: { principalType: GranteeType.USER, principalId: userId },
    })),
    ...[...(run.agents ?? [])].map(([name, id]) => ({
      name,
      fields: { principalType: GranteeType.AGENT, principalId: id },
    })),
    ...[...(run.groups ?? [])].map(([name, id]) => ({
      name,
      fields: { principalType: GranteeType.GROUP, principalId: id },
    })),
    { name: 'org', fields: { principalType: GranteeType.ORG } },
    ...workspaces,
  ];
  return all[number % all.length] as (typeof all)[number];
}
