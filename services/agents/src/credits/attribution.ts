import type { Attribution, ChargeKey } from '../domain/charge.js';
import type { RunRecord } from '../stores/runs.js';

/** Returns what the credits of a run are spent for. */
export const sourceOf = ({ source }: Pick<RunRecord, 'source'>): ChargeKey['source'] =>
  source === 'chat' ? 'chat' : 'agent_run';

/** Returns what the usage of a run is counted by. */
export function attributionOf(run: Omit<RunRecord, 'version'>): Attribution {
  const { tenant, model, userId, initiator, agentId, workspaceId } = run;
  const apiKeyId = initiator.type === 'api_key' ? initiator.id : undefined;
  return { tenant, feature: sourceOf(run), model, userId, apiKeyId, agentId, workspaceId };
}

/** Returns the key under which credits are reserved for the step after an approval. */
export function approvalKey(run: Pick<RunRecord, 'id' | 'source'>, approvalId: string): ChargeKey {
  return { source: sourceOf(run), runId: run.id, step: `approval ${approvalId}`, attempt: 1 };
}
