import type { HeldJob } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import { RunSource } from '@commonplace/proto/agents/v1/run.js';
import type { StartWorkRunResponse } from '@commonplace/proto/agents/v1/work_run_service.js';
import { doneFire } from './fires.js';
import { type Pair, readPair, type ScheduleParts, savePair } from './parts.js';
import { failSchedule, type ScheduleError } from './pause.js';
import type { FireRecord } from './records.js';
import { releaseWaiting } from './run-ended.js';
import { countFailure } from './start.js';

/**
 * Asks the agents service to start the run of a fire that is marked as started. The call is retried until it is
 * answered; the run's id is derived from the fire, so that the run starts once.
 */
export async function startAgentRun(parts: ScheduleParts, job: HeldJob<FireRecord>): Promise<void> {
  const { refusalCode, refusal } = await askToStart(parts, job.record);
  if (refusalCode === '' && refusal === '') {
    return job.endIn((work, fire) => void work.replace(parts.fires, fire, doneFire(parts, fire, parts.now(), {})));
  }
  await job.endIn((work, fire) => refuse(parts, work, fire, refusalCode || 'refused'));
}

/** Cancels the run of a fire that a newer fire replaces. */
export async function cancelAgentRun(parts: ScheduleParts, job: HeldJob<FireRecord>): Promise<void> {
  const { runId = '', launch, reason = '' } = job.record;
  // The start may be in progress. Once the start is answered, the run exists and can be canceled.
  if (launch !== undefined) await askToStart(parts, job.record);
  await parts.peers.agentRuns.cancelWorkRun({ runId, reason }, parts.systemCall());
  await job.endIn((work, fire) => void work.replace(parts.fires, fire, doneFire(parts, fire, parts.now(), {})));
}

async function askToStart(
  { peers, systemCall }: Pick<ScheduleParts, 'peers' | 'systemCall'>,
  { runId = '', launch, workspaceId, scheduleId }: FireRecord,
): Promise<StartWorkRunResponse> {
  if (launch === undefined) return { refusalCode: '', refusal: '' };
  const { agentId, actsAs, input, deliverTo } = launch;
  const { userId, userName, credentialId, scopes } = actsAs;
  return peers.agentRuns.startWorkRun(
    {
      ...{ runId, agentId, userId, userName, credentialId, scopes: [...scopes], workspaceId, scheduleId },
      ...{ source: RunSource.SCHEDULE, resourceIds: [], chain: [], taintSources: [] },
      input: {
        ...{ text: input.text, attachments: [...input.attachments] },
        parameters: Buffer.from(JSON.stringify(input.parameters)),
      },
      ...(deliverTo?.type === 'im_conversation' && { conversationId: deliverTo.id }),
      ...(deliverTo?.type === 'chat_session' && { sessionId: deliverTo.id }),
    },
    systemCall(),
  );
}

/** Ends a fire that fails in every attempt, in a unit of work. */
export async function giveUpFire(parts: ScheduleParts, work: UnitOfWork, fire: FireRecord): Promise<void> {
  if (fire.state === 'canceling') work.replace(parts.fires, fire, doneFire(parts, fire, parts.now(), {}));
  else await refuse(parts, work, fire, 'internal_error');
}

/** Refusals that last until a person changes something. */
const ERRORS: Readonly<Record<string, ScheduleError>> = { not_found: 'target_gone', permission_lost: 'access_lost' };

/** Ends a fire that could not be started, and counts the failure in its schedule, in a unit of work. */
async function refuse(parts: ScheduleParts, work: UnitOfWork, fire: FireRecord, reason: string): Promise<void> {
  const now = parts.now();
  const refused = { outcome: 'failed_to_start' as const, reason, runId: undefined, runEnded: true };
  work.replace(parts.fires, fire, doneFire(parts, fire, now, refused));
  const before = await readPair(parts, work, fire.scheduleId);
  if (before === undefined) return;
  const { lastRun } = before.state;
  const isLast = lastRun?.fireId === fire.id;
  const state = { ...before.state, ...(isLast && { lastRun: undefined }) };
  const pair: Pair = { schedule: before.schedule, state };
  const error = ERRORS[reason];
  const after =
    error === undefined
      ? await countFailure(parts, work, pair, now, fire.id)
      : await failSchedule(parts, work, pair, error, now, fire.id);
  await releaseWaiting(parts, work, after, now);
  savePair(parts, work, before, after);
}
