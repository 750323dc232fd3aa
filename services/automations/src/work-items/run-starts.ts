import type { Actor, Caller } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import { type HeldJob, openQueue, type Queue } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import { RunSource } from '@commonplace/proto/agents/v1/run.js';
import { StartWorkRunRequest } from '@commonplace/proto/agents/v1/work_run_service.js';
import { rightsOfCaller } from '../acts-as.js';
import { isLoop } from '../domain/chain.js';
import { recordActivity } from './activity.js';
import type { WorkItemParts } from './parts.js';
import { type RunStartRecord, runStartQueue, type WorkItemRecord } from './records.js';
import { linkRun } from './run-links.js';

type StartParts = Pick<
  WorkItemParts,
  'items' | 'starts' | 'links' | 'activities' | 'peers' | 'store' | 'log' | 'now' | 'systemCall'
>;

/** Number of runs that this process starts concurrently. */
const CONCURRENCY = 8;
/** The backoff of retries; a restarting service is unavailable for some seconds. */
const BACKOFF = { firstMs: 1_000, maxMs: 600_000 };
/** About nine hours: after an outage that is longer, nobody expects the run any more. */
const MAX_WAITS = 60;

/** Returns the id of the run that an assignment starts, which is the same for every attempt. */
const runIdOf = (itemId: string, assignment: number): string => derivedId(`work-item-run:${itemId}:${assignment}`);

/** Enqueues a run of the agent that a work item is assigned to, in the unit of work that assigns it. */
export function requestRun(
  { starts, now }: Pick<StartParts, 'starts' | 'now'>,
  { id: itemId, tenant, workspaceId, assignment, assignee }: WorkItemRecord,
  caller: Caller,
  work: UnitOfWork,
): void {
  if (assignee?.type !== 'agent') return;
  const { chain = [], authorId } = caller;
  work.insert(starts, {
    ...{ id: runIdOf(itemId, assignment), tenant, workspaceId, itemId, assignment },
    ...{ agentId: assignee.id, agentName: assignee.name, chain: [...chain], ...rightsOfCaller(caller) },
    ...(authorId !== undefined && { authorId }),
    dueAt: new Date(now()).toISOString(),
  });
}

/** Opens the queue that starts the runs of assigned agents. */
export function openRunStartQueue(parts: StartParts): Promise<Queue<RunStartRecord>> {
  const { store, log, now } = parts;
  return openQueue<RunStartRecord>({
    ...{ store, log, now, spec: runStartQueue, concurrency: CONCURRENCY, backoff: BACKOFF, maxWaits: MAX_WAITS },
    run: (job) => startRun(parts, job),
    onGivenUp: (job) => refuse(parts, job, 'unavailable'),
  });
}

async function startRun(parts: StartParts, job: HeldJob<RunStartRecord>): Promise<void> {
  const { record } = job;
  const item = await parts.items.get(record.itemId);
  // The item was deleted or assigned to someone else before the run began.
  if (item?.assignment !== record.assignment) return job.remove();
  // Without this check, agents that assign work to each other would never stop.
  if (isLoop(record.chain, record.agentId)) return refuse(parts, job, 'loop');
  const { refusalCode } = await parts.peers.agentRuns.startWorkRun(requestOf(item, record), parts.systemCall());
  if (refusalCode !== '') return refuse(parts, job, refusalCode);
  await job.remove((work) => linkRun(parts, runOf(record), work));
}

const runOf = ({ id, itemId, agentId, agentName, userId }: RunStartRecord) => ({
  ...{ runId: id, itemId, agentId, initiatorId: userId },
  actor: { type: 'agent', id: agentId, name: agentName } as const,
});

function requestOf(item: WorkItemRecord, record: RunStartRecord): StartWorkRunRequest {
  const { id: runId, agentId, userId, userName, credentialId, scopes, chain, authorId, limitedTo = [] } = record;
  const { id: workItemId, workspaceId, titleTaint, descriptionTaint } = item;
  return StartWorkRunRequest.fromPartial({
    ...{ runId, agentId, userId, userName, credentialId, scopes: [...scopes], workspaceId, workItemId },
    source: RunSource.WORK_ITEM,
    input: { text: taskOf(item) },
    resourceIds: [...item.resourceIds],
    chain: [...chain, agentId],
    ...{ authorId, limitedTo: [...limitedTo] },
    taintSources: [titleTaint, descriptionTaint].flatMap((taint) => taint ?? []),
  });
}

/** Returns the task of a run as text. */
function taskOf({ id, number, title, description, status, priority, dueAt, labels }: WorkItemRecord): string {
  const facts = [
    ...[`Work item #${number} (${id}) was assigned to you.`, `Title: ${title}`, `Status: ${status}`],
    ...(priority === 'none' ? [] : [`Priority: ${priority}`]),
    ...(dueAt === undefined ? [] : [`Due: ${dueAt}`]),
    ...(labels.length === 0 ? [] : [`Labels: ${labels.join(', ')}`]),
  ];
  return `${facts.join('\n')}${description === '' ? '' : `\n\n${description}`}`;
}

const SYSTEM: Actor = { type: 'system', id: 'automations', name: 'Work items' };

/** Records why no run was started, in the unit that removes the job. */
function refuse(parts: StartParts, job: HeldJob<RunStartRecord>, reason: string): Promise<void> {
  const { itemId } = job.record;
  return job.remove(async (work) => {
    const item = await work.get(parts.items, itemId);
    if (item === undefined) return;
    work.expect(parts.items, item);
    recordActivity(
      parts,
      item,
      { type: 'run_refused', actor: SYSTEM, reason },
      new Date(parts.now()).toISOString(),
      work,
    );
  });
}
