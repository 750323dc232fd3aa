import type { PersonMemberships } from '@commonplace/platform/memberships';
import { isTrustedRole } from '@commonplace/platform/memberships';
import type { EarlierMessage } from '@commonplace/proto/agents/v1/conversation_run_service.js';
import { distinctTaints, type TaintSource } from '../domain/taint.js';
import type { Parts } from '../parts.js';

/** The author of a message, and for an agent the run that wrote it. */
type MessageAuthor = Pick<EarlierMessage, 'authorId' | 'authorName' | 'byAgent' | 'runId'>;

/**
 * Returns the taints of messages in a conversation: authors with less than the role commenter in the run's workspace,
 * and agents whose runs had read untrusted content.
 */
export async function taintsOfMessages(
  { runs, memberships, systemCall }: Pick<Parts, 'runs' | 'memberships' | 'systemCall'>,
  messages: readonly MessageAuthor[],
  workspaceId: string,
): Promise<TaintSource[]> {
  const isTrusted = ({ workspaces }: PersonMemberships) => isTrustedRole(workspaces.get(workspaceId)?.role);
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
