import type { Attribution, ChargeKey } from '../domain/charge.js';
import type { RunRecord } from '../stores/runs.js';

/** Returns the source that the credits of a run are charged to. */
export const sourceOf = ({ source }: Pick<RunRecord, 'source'>): ChargeKey['source'] =>
  source === 'chat' ? 'chat' : 'agent_run';

/** Returns the dimensions that the usage of a run is counted by. */
export function attributionOf(run: Omit<RunRecord, 'version'>): Attribution {
  const { tenant, model, userId, initiator, agentId, workspaceId } = run;
  const apiKeyId = initiator.type === 'api_key' ? initiator.id : undefined;
  return { tenant, feature: sourceOf(run), model, userId, apiKeyId, agentId, workspaceId };
}

/** Returns the key of the credits reserved for the step after an approval. */
export function approvalKey(run: Pick<RunRecord, 'id' | 'source'>, approvalId: string): ChargeKey {
  return { source: sourceOf(run), runId: run.id, step: `approval ${approvalId}`, attempt: 1 };
}
