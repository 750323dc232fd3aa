import type { HeldJob } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import { RunSource } from '@commonplace/proto/agents/v1/run.js';
import { isHidden } from '../hidden-workspaces.js';
import { doneFire } from './fires.js';
import { HIDDEN_RECHECK_MS, type Pair, readPair, type ScheduleParts, savePair } from './parts.js';
import { failSchedule, type ScheduleError } from './pause.js';
import type { FireRecord, LastRun, ScheduleStateRecord } from './records.js';
import { releaseWaiting } from './run-ended.js';
import { confirmStart, countFailure, saveDecided } from './start.js';

/**
 * Asks the agents service to start the run of a fire that is marked as started. The call is retried until it is
 * answered; the run's id is derived from the fire, so that the run starts once.
 */
export async function startAgentRun(parts: ScheduleParts, job: HeldJob<FireRecord>): Promise<void> {
  const refusal = await askToStart(parts, job.record);
  // The deletion of the Org may have been scheduled since access was checked.
  const mayBeHidden = refusal !== undefined && ERRORS[refusal] !== undefined;
  if (mayBeHidden && (await isHidden(parts, job.record.workspaceId))) return job.retryIn(HIDDEN_RECHECK_MS);
  await job.endIn((work, fire) =>
    refusal === undefined ? confirm(parts, work, fire) : refuse(parts, work, fire, refusal),
  );
}

/** Cancels the run of a fire that a newer fire replaces. */
export async function cancelAgentRun(parts: ScheduleParts, job: HeldJob<FireRecord>): Promise<void> {
  const { runId = '', launch, reason = '' } = job.record;
  // The start may be in progress. Once the start is answered, the run exists and can be canceled.
  const refusal = launch === undefined ? undefined : await askToStart(parts, job.record);
  if (refusal !== undefined) return job.endIn((work, fire) => refuse(parts, work, fire, refusal));
  await parts.peers.agentRuns.cancelWorkRun({ runId, reason }, parts.systemCall());
  await job.endIn((work, fire) => confirm(parts, work, fire));
}

/** Ends a fire whose run exists, in a unit of work. */
async function confirm(parts: ScheduleParts, work: UnitOfWork, fire: FireRecord): Promise<void> {
  const now = parts.now();
  work.replace(parts.fires, fire, doneFire(parts, fire, now, {}));
  const before = fire.launch === undefined ? undefined : await readPair(parts, work, fire.scheduleId);
  if (before === undefined) return;
  await saveDecided(parts, work, before, confirmStart(work, before, fire, now), now);
}

/** Asks for the run of a fire. Returns the code of the refusal; undefined if the run exists. */
async function askToStart(
  { peers, systemCall }: Pick<ScheduleParts, 'peers' | 'systemCall'>,
  { runId = '', launch, workspaceId, scheduleId }: FireRecord,
): Promise<string | undefined> {
  if (launch === undefined) return undefined;
  const { agentId, actsAs, input, deliverTo } = launch;
  const { userId, userName, credentialId, scopes, limitedTo = [] } = actsAs;
  const { refusalCode, refusal } = await peers.agentRuns.startWorkRun(
    {
      ...{ runId, agentId, userId, userName, credentialId, scopes: [...scopes], workspaceId, scheduleId },
      ...{ source: RunSource.SCHEDULE, resourceIds: [], chain: [], taintSources: [], limitedTo: [...limitedTo] },
      input: {
        ...{ text: input.text, attachments: [...input.attachments] },
        parameters: Buffer.from(JSON.stringify(input.parameters)),
      },
      ...(deliverTo?.type === 'im_conversation' && { conversationId: deliverTo.id }),
      ...(deliverTo?.type === 'chat_session' && { sessionId: deliverTo.id }),
    },
    systemCall(),
  );
  return refusalCode === '' && refusal === '' ? undefined : refusalCode || 'refused';
}

/** Ends a fire that fails in every attempt, in a unit of work. */
export async function giveUpFire(parts: ScheduleParts, work: UnitOfWork, fire: FireRecord): Promise<void> {
  if (fire.state === 'canceling') work.replace(parts.fires, fire, doneFire(parts, fire, parts.now(), {}));
  else await refuse(parts, work, fire, 'internal_error');
}

/** Refusals that last until a person changes something. */
const ERRORS: Readonly<Record<string, ScheduleError>> = { not_found: 'target_gone', permission_lost: 'access_lost' };

/**
 * Ends a fire that could not be started, in a unit of work: the schedule no longer counts it as a run, but as a failure.
 */
async function refuse(parts: ScheduleParts, work: UnitOfWork, fire: FireRecord, reason: string): Promise<void> {
  const now = parts.now();
  const unstarted = { runId: undefined, runEnded: undefined, startedAt: undefined, lagMs: undefined };
  work.replace(parts.fires, fire, doneFire(parts, fire, now, { ...unstarted, outcome: 'failed_to_start', reason }));
  const before = await readPair(parts, work, fire.scheduleId);
  if (before === undefined) return;
  const pair: Pair = { schedule: before.schedule, state: await uncounted(parts, work, before.state, fire) };
  const error = ERRORS[reason];
  const after =
    error === undefined
      ? await countFailure(parts, work, pair, now, fire.id)
      : await failSchedule(parts, work, pair, error, now, fire.id);
  await releaseWaiting(parts, work, after, now);
  savePair(parts, work, before, after);
}

/** Returns the state of a schedule as if a fire had not started. */
async function uncounted(
  { fires }: Pick<ScheduleParts, 'fires'>,
  work: UnitOfWork,
  state: ScheduleStateRecord,
  { id, isManual, startedAt = '', launch }: FireRecord,
): Promise<ScheduleStateRecord> {
  if (launch === undefined) return state;
  const { runCount, recentStarts } = state;
  const before = isManual
    ? state
    : {
        ...{ ...state, runCount: Math.max(0, runCount - 1) },
        recentStarts: recentStarts.filter((time) => time !== startedAt),
      };
  if (state.lastRun?.fireId !== id) return before;
  return { ...before, lastRun: launch.lastRun && (await asOfNow({ fires }, work, launch.lastRun)) };
}

/** Returns an earlier last run with what its fire has recorded in the meantime; undefined if its start was refused. */
async function asOfNow(
  { fires }: Pick<ScheduleParts, 'fires'>,
  work: UnitOfWork,
  lastRun: LastRun,
): Promise<LastRun | undefined> {
  const fire = await work.get(fires, lastRun.fireId);
  if (fire?.outcome === 'failed_to_start') return undefined;
  return { ...lastRun, status: fire?.runStatus ?? lastRun.status, hasEnded: fire?.runEnded ?? lastRun.hasEnded };
}
