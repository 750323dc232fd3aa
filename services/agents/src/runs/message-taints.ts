import type { PersonMemberships } from '@commonplace/platform/memberships';
import type { EarlierMessage } from '@commonplace/proto/agents/v1/conversation_run_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { distinctTaints, type TaintSource } from '../domain/taint.js';
import type { Parts } from '../parts.js';

/** The roles of people whose words are trusted. */
const TRUSTED: ReadonlySet<WorkspaceRole> = new Set([
  WorkspaceRole.COMMENTER,
  WorkspaceRole.EDITOR,
  WorkspaceRole.ADMIN,
  WorkspaceRole.OWNER,
]);

/** Who has written a message, and the run that has written one of an agent. */
export type MessageAuthor = Pick<EarlierMessage, 'authorId' | 'authorName' | 'byAgent' | 'runId'>;

/**
 * Returns what makes messages of a conversation untrusted: those of people who may not even comment where the run is, and those
 * of agents' runs that had read untrusted content.
 */
export async function taintsOfMessages(
  { runs, memberships, systemCall }: Pick<Parts, 'runs' | 'memberships' | 'systemCall'>,
  messages: readonly MessageAuthor[],
  workspaceId: string,
): Promise<TaintSource[]> {
  const isTrusted = ({ workspaces }: PersonMemberships) =>
    TRUSTED.has(workspaces.get(workspaceId)?.role ?? WorkspaceRole.UNSPECIFIED);
  const taintOf = async ({ authorId: id, authorName: name, byAgent, runId }: MessageAuthor) => {
    if (!byAgent) {
      return isTrusted(await memberships.of(id, systemCall())) ? [] : [{ type: 'guest', id, name } as const];
    }
    const run = await runs.get(runId);
    const isClean = run !== undefined && (run.taintSources ?? []).length === 0;
    return isClean ? [] : [{ type: 'agent', id, name } as const];
  };
  return distinctTaints((await Promise.all(messages.map(taintOf))).flat());
}
