import { derivedId } from '@commonplace/kit/id';
import { jsonBytes } from '@commonplace/kit/json';
import { enumName } from '@commonplace/platform/enums';
import { type RunOutput, RunSource, RunStatus } from '@commonplace/proto/agents/v1/run.js';
import { StartWorkRunRequest, type WorkRun } from '@commonplace/proto/agents/v1/work_run_service.js';
import { isHidden, WorkspaceHidden } from '../../hidden-workspaces.js';
import { ActionError, permissionLost } from '../failure.js';
import { chainOf } from '../finished-event.js';
import type { StepRecord } from '../records.js';
import { type Action, type ActionContext, type ActionParts, type ActionResult, given } from './action.js';

type AgentParts = Pick<ActionParts, 'peers' | 'systemCall'>;

const CALL_MS = 10_000;

/** Returns the id of the agent run that a step starts, which is the same for each attempt. */
export const agentRunIdOf = ({ key }: Pick<StepRecord, 'key'>): string => derivedId(`agent run of ${key}`);

/** Starts a run of an agent with the rights of the person, and suspends the run until it ends. */
export const runAgent = (parts: AgentParts): Action => ({
  async run(context) {
    const { step } = context;
    const agentRunId = agentRunIdOf(step);
    // Throws if the person whose rights the run has lost access.
    await context.options();
    let found = await findRun(parts, agentRunId);
    if (found === undefined) {
      await start(parts, context, agentRunId);
      found = await findRun(parts, agentRunId);
    }
    return found === undefined ? { kind: 'agent', agentRunId, awaitsApproval: false } : resultOf(found);
  },
  async cancel(step, reason) {
    const { peers, systemCall } = parts;
    await peers.agentRuns.cancelWorkRun({ runId: agentRunIdOf(step), reason }, systemCall(CALL_MS));
  },
});

async function findRun({ peers, systemCall }: AgentParts, runId: string): Promise<WorkRun | undefined> {
  const { items } = await peers.agentRuns.findWorkRuns({ runIds: [runId] }, systemCall(CALL_MS));
  return items[0];
}

/** Returns the workspaces that a run may reach, its own among them; none means no limit. */
function limitOf(limitedTo: readonly string[] | undefined, workspaceId: string): string[] {
  return limitedTo === undefined ? [] : [...new Set([workspaceId, ...limitedTo])];
}

async function start(parts: AgentParts, { run, rights, config }: ActionContext, runId: string): Promise<void> {
  const { peers, systemCall } = parts;
  const { workspaceId, taints } = run;
  const { userId, userName, credentialId, scopes, authorId, limitedTo } = rights;
  const request = StartWorkRunRequest.fromPartial({
    ...given(config, {
      ...{ agent_id: 'agentId', resource_ids: 'resourceIds', max_credits: 'maxCredits', max_steps: 'maxSteps' },
    }),
    ...{
      runId,
      workspaceId,
      userId,
      userName,
      credentialId,
      scopes: [...scopes],
      authorId,
      limitedTo: limitOf(limitedTo, workspaceId),
    },
    source: RunSource.AUTOMATION,
    input: { text: String(config.input), attachments: [], parameters: jsonBytes(config.parameters ?? {}) },
    chain: chainOf(run),
    taintSources: taints.map(({ type, id, name }) => ({ type, id, name })),
  });
  const { refusalCode, refusal } = await peers.agentRuns.startWorkRun(request, systemCall(CALL_MS));
  if (refusalCode === 'permission_lost') {
    // Or the deletion of the Org was scheduled since access was checked.
    throw (await isHidden(parts, workspaceId)) ? new WorkspaceHidden() : permissionLost();
  }
  if (refusalCode !== '') throw new ActionError(refusalCode, refusal);
}

const ENDED: ReadonlySet<RunStatus> = new Set([
  RunStatus.COMPLETED,
  RunStatus.FAILED,
  RunStatus.CANCELED,
  RunStatus.EXPIRED,
]);

function resultOf(found: WorkRun): ActionResult {
  const { id, status, output, errorCode, errorMessage, agentId = '' } = found;
  if (!ENDED.has(status)) {
    return { kind: 'agent', agentRunId: id, awaitsApproval: status === RunStatus.AWAITING_APPROVAL };
  }
  if (status !== RunStatus.COMPLETED) {
    const ended = enumName(status, 'RUN_STATUS');
    throw new ActionError(errorCode || `agent_run_${ended}`, errorMessage || `The run of the agent is ${ended}.`);
  }
  const taints = found.tainted ? ([{ type: 'agent', id: agentId, name: '' }] as const) : [];
  return { kind: 'done', output: { run_id: id, ...outputOf(output) }, taints };
}

function outputOf(output: RunOutput | undefined) {
  if (output === undefined) return { text: '', resource_ids: [], data: null };
  const { text, resourceIds, data } = output;
  return { text, resource_ids: resourceIds, data: data.length === 0 ? null : JSON.parse(data.toString()) };
}
