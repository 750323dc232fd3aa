import { isDeepStrictEqual } from 'node:util';
import { invalidField } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from '../parts.js';
import { type AgentPrompt, type AgentRecord, type AgentVersionRecord, agentVersionId } from '../stores/agents.js';
import { LIVE } from '../stores/runs.js';
import { skillContentId } from '../stores/skills.js';

type VersionParts = Pick<Parts, 'agentVersions' | 'skillContents' | 'runs'>;

/** Number of versions of an agent that are kept and shown. Older ones are kept as long as a run uses them. */
const VERSIONS_KEPT = 50;

const FIELDS = ['instructions', 'model', 'temperature', 'tools', 'skills'] as const;

/** Returns the fields of an agent that its runs pin. */
export function promptOf({ instructions, model, temperature, tools, skills }: AgentPrompt): AgentPrompt {
  return { instructions, model, temperature, tools, skills };
}

/** Returns the names of the pinned fields that differ. Any difference makes a new version. */
export function promptChanges(before: AgentPrompt, after: AgentPrompt): string[] {
  return FIELDS.filter((field) => !isDeepStrictEqual(before[field], after[field]));
}

/**
 * Writes the current version of an agent, in the unit of work that writes the agent's record, and deletes versions that
 * are too old.
 */
export async function writeVersion(
  parts: VersionParts,
  agent: AgentRecord,
  changedFields: readonly string[],
  { work, caller }: Pick<CallContext, 'work' | 'caller'>,
): Promise<void> {
  const { id, tenant, promptVersion, updatedAt } = agent;
  work.insert(parts.agentVersions, {
    ...{ id: agentVersionId(id, promptVersion), tenant, agentId: id, number: promptVersion, ...promptOf(agent) },
    ...{ changedBy: { id: caller.userId, name: caller.userName }, changedAt: updatedAt, changedFields },
  });
  await pruneVersions(parts, agent, work);
}

/** Maximum number of old versions that one change deletes. */
const PRUNED_AT_ONCE = 200;

async function pruneVersions(
  { agentVersions, skillContents, runs }: VersionParts,
  { id: agentId, skills }: AgentRecord,
  work: CallContext['work'],
): Promise<void> {
  // The version of this change is not stored yet, hence one less.
  const kept = await agentVersions.find({ where: { agentId }, sort: ['-number'], limit: VERSIONS_KEPT - 1 });
  const oldest = kept.at(-1)?.number;
  if (kept.length < VERSIONS_KEPT - 1 || oldest === undefined) return;
  const where = { agentId, number: { lt: oldest } };
  const old = await agentVersions.find({ where, sort: ['number'], limit: PRUNED_AT_ONCE });
  const unused = new Map<string, AgentVersionRecord>();
  for (const version of old) {
    const uses = { agentId, agentVersion: version.number, status: { in: [...LIVE, 'awaiting_approval'] } };
    if ((await runs.count(uses, 1)) === 0) unused.set(version.id, version);
  }
  const left = [...kept, ...old.filter(({ id }) => !unused.has(id)), { skills }];
  const hashes = new Set(left.flatMap((version) => version.skills.map(({ contentHash }) => contentHash)));
  const gone = new Set([...unused.values()].flatMap((version) => version.skills.map(({ contentHash }) => contentHash)));
  for (const version of unused.values()) work.remove(agentVersions, version);
  for (const hash of gone) {
    const content = hashes.has(hash) ? undefined : await work.get(skillContents, skillContentId(agentId, hash));
    if (content !== undefined) work.remove(skillContents, content);
  }
}

/** Returns a stored version of an agent. Throws `invalid_value` if it does not exist. */
export async function keptVersion(
  { agentVersions }: Pick<Parts, 'agentVersions'>,
  { id }: Pick<AgentRecord, 'id'>,
  number: number,
): Promise<AgentVersionRecord> {
  const version = await agentVersions.get(agentVersionId(id, number));
  if (version === undefined) {
    throw invalidField('restore_version', 'invalid_value', 'is not a stored version of the agent.');
  }
  return version;
}

/** Returns the latest versions of an agent, newest first. */
export function latestVersions(
  { agentVersions }: Pick<Parts, 'agentVersions'>,
  { id: agentId }: Pick<AgentRecord, 'id'>,
): Promise<AgentVersionRecord[]> {
  return agentVersions.find({ where: { agentId }, sort: ['-number'], limit: VERSIONS_KEPT });
}
