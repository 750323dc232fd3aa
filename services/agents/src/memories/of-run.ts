import { homeOf } from '@commonplace/kit/id';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { Where } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import { readableAmong } from '../readable.js';
import type { AgentRecord } from '../stores/agents.js';
import { holderOfAgent, holderOfOrg, holderOfUser, holderOfWorkspace, type MemoryRecord } from '../stores/memories.js';
import type { RunRecord } from '../stores/runs.js';
import { type MemoryRights, rightsOf } from './access.js';
import { unexpired } from './list.js';

export type RunParts = Pick<Parts, 'memories' | 'agents' | 'memberships' | 'index' | 'settings'>;

/** A run that uses memories, and a way to make calls with its rights. */
export interface MemoryAsker {
  readonly run: RunRecord;
  acting(timeoutMs?: number): Promise<CallOptions>;
}

/** The memories that a run may use now. */
export interface MemoryReach {
  readonly agent: AgentRecord | undefined;
  /** The rights of the person who started it. */
  readonly rights: MemoryRights;
  /** One filter for each holder whose memories it reads. */
  readonly groups: readonly (Where<MemoryRecord> & { readonly holder: string })[];
}

/**
 * Returns the memories that a run may use: those of the person who started it, of its workspace and, for an agent, of
 * its Org and of the agent itself, as far as the person can read them now. Returns undefined if it uses none.
 */
export async function reachOf(parts: RunParts, { run, acting }: MemoryAsker): Promise<MemoryReach | undefined> {
  if (!run.scopes.includes('memory:read')) return undefined;
  const agent = run.agentId === undefined ? undefined : await parts.agents.get(run.agentId);
  if (run.agentId !== undefined && (agent === undefined || agent.memoryMode === 'off')) return undefined;
  const onward = await acting();
  const rights = await rightsOf(parts, { caller: run, onward }, () => true);
  return { agent, rights, groups: groupsOf(run, agent, rights) };
}

function groupsOf(run: RunRecord, agent: AgentRecord | undefined, rights: MemoryRights): MemoryReach['groups'] {
  const { tenant, orgId, workspaceId, userId } = run;
  const groups: (Where<MemoryRecord> & { readonly holder: string })[] = [];
  // Only runs started by a person use that person's own memories. A key of the Org must not reach Personal ones, and a
  // key of certain workspaces nothing else.
  if (run.initiator.type === 'user') {
    for (const one of new Set([tenant, homeOf(userId)])) groups.push({ holder: holderOfUser(userId, one) });
  }
  const isInPlace = agent === undefined || agent.workspaceIds.includes(workspaceId ?? '');
  if (workspaceId !== undefined && isInPlace && rights.canRead({ scope: 'workspace', tenant, orgId, workspaceId })) {
    groups.push({ holder: holderOfWorkspace(workspaceId) });
  }
  if (agent === undefined) return groups;
  if (orgId !== '' && agent.orgId === orgId && rights.canRead({ scope: 'org', tenant, orgId })) {
    groups.push({ holder: holderOfOrg(orgId) });
  }
  const own = { holder: holderOfAgent(agent.id), tenant: agent.tenant };
  groups.push({ ...own, or: [{ subjectId: { exists: false } }, { subjectId: userId }] });
  return groups;
}

/** Returns the filter for active and unexpired memories of the given groups. */
export function activeIn(groups: MemoryReach['groups']): Where<MemoryRecord> {
  return { status: 'active', and: [{ or: [...groups] }, unexpired()] };
}

/** Returns the memories whose sources the person can all read now. */
export async function withReadableSources(
  parts: RunParts,
  memories: readonly MemoryRecord[],
  { acting }: MemoryAsker,
): Promise<MemoryRecord[]> {
  const ids = [...new Set(memories.flatMap(({ sourceIds }) => sourceIds))];
  const readable = ids.length === 0 ? new Map() : await readableAmong(parts, ids, { onward: await acting() });
  return memories.filter(({ sourceIds }) => sourceIds.every((id) => readable.has(id)));
}

/** Returns the given memories that the run may still use, in their current state and in the order of `ids`. */
export async function stillUsable(
  parts: RunParts,
  ids: readonly string[],
  asker: MemoryAsker,
): Promise<MemoryRecord[]> {
  if (ids.length === 0) return [];
  const reach = await reachOf(parts, asker);
  if (reach === undefined) return [];
  const where = { and: [{ id: { in: ids } }, activeIn(reach.groups)] };
  const found = await parts.memories.find({ where, limit: ids.length });
  const usable = new Map((await withReadableSources(parts, found, asker)).map((memory) => [memory.id, memory]));
  return ids.flatMap((id) => usable.get(id) ?? []);
}
