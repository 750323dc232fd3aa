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

/** A run that is given memories, and how calls are made with its rights. */
export interface MemoryAsker {
  readonly run: RunRecord;
  acting(timeoutMs?: number): Promise<CallOptions>;
}

/** What a run may use of memories at this moment. */
export interface MemoryReach {
  readonly agent: AgentRecord | undefined;
  /** Rights of the person who has started it. */
  readonly rights: MemoryRights;
  /** One condition for each holder that it reads. */
  readonly groups: readonly (Where<MemoryRecord> & { readonly holder: string })[];
}

/**
 * Returns what a run reads: memories of the person who started it, of its workspace and, for an agent, of its Org and of
 * the agent itself, as far as the person may read them now. Undefined if it uses none.
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
  // A key of the Org reaches nothing Personal, and one of certain workspaces nothing else: only what a person starts
  // themselves uses what is theirs.
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

/** Returns a condition for the memories of some holders that are active now. */
export function activeIn(groups: MemoryReach['groups']): Where<MemoryRecord> {
  return { status: 'active', and: [{ or: [...groups] }, unexpired()] };
}

/** Returns those of some memories all of whose sources the person may read now. */
export async function withReadableSources(
  parts: RunParts,
  memories: readonly MemoryRecord[],
  { acting }: MemoryAsker,
): Promise<MemoryRecord[]> {
  const ids = [...new Set(memories.flatMap(({ sourceIds }) => sourceIds))];
  const readable = ids.length === 0 ? new Map() : await readableAmong(parts, ids, { onward: await acting() });
  return memories.filter(({ sourceIds }) => sourceIds.every((id) => readable.has(id)));
}

/** Returns those of some memories that the run may still use, as they are now, in the order of `ids`. */
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
