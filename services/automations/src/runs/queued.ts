import { runEach } from '@commonplace/kit/jobs';
import { findPages, inWork, type UnitOfWork } from '@commonplace/kit/store';
import type { RunsOfAutomations } from '../definitions/parts.js';
import type { Shared } from '../parts.js';
import { type EndParts, endIdleRun } from './end.js';
import { isBehind } from './lane.js';
import { type LaneRecord, laneCollection, runCollection } from './records.js';

export async function openRunsOfAutomations({ store }: Pick<Shared, 'store'>): Promise<RunsOfAutomations> {
  const lanes = await store.collection(laneCollection);
  await store.collection(runCollection);
  const change = async (work: UnitOfWork, id: string, changed: (lane: LaneRecord) => Partial<LaneRecord>) => {
    const lane = await work.get(lanes, id);
    if (lane !== undefined) work.replace(lanes, lane, { ...lane, ...changed(lane) });
  };
  return {
    async summaries(automationIds) {
      const found = await lanes.getMany(automationIds);
      return new Map(found.map(({ id, failureCount, lastRun }) => [id, { failureCount, lastRun }]));
    },
    skipQueued: (work, { id }) => change(work, id, ({ lastSeq, queued }) => (queued > 0 ? { skipTo: lastSeq } : {})),
    resetFailures: (work, { id }) => change(work, id, () => ({ failureCount: 0 })),
  };
}

/** Number of runs that one unit of work skips; small, so that it does not block the process. */
const CHUNK = 20;
const LANES = 100;

/** Skips the waiting runs of automations that were switched off or deleted. */
export async function skipMarkedRuns(parts: EndParts & Pick<Shared, 'store'>, signal: AbortSignal): Promise<void> {
  await runEach(markedLanes(parts, signal), async ({ id }) => {
    while (!signal.aborted && (await skipSome(parts, id)));
  });
}

async function* markedLanes({ lanes }: Pick<EndParts, 'lanes'>, signal: AbortSignal): AsyncGenerator<LaneRecord> {
  for await (const marked of findPages(lanes, { where: { skipTo: { gt: 0 } } }, LANES)) {
    yield* marked;
    if (signal.aborted) return;
  }
}

/** Skips some runs of an automation. Returns whether more may follow. */
function skipSome(parts: EndParts & Pick<Shared, 'store'>, automationId: string): Promise<boolean> {
  const { store, lanes, runs } = parts;
  return inWork(store, async (work) => {
    const lane = await work.get(lanes, automationId);
    if (lane?.skipTo === undefined) return false;
    const where = { automationId, status: 'queued', dueAt: { exists: false }, seq: { lte: lane.skipTo } };
    const found = await runs.find({ where, sort: ['seq'], limit: CHUNK });
    for (const run of found.filter(isBehind)) {
      await endIdleRun(parts, work, run, { status: 'skipped', skipReason: 'inactive' });
    }
    if (found.length === CHUNK) return true;
    const after = (await work.get(lanes, automationId)) ?? lane;
    work.replace(lanes, after, { ...after, skipTo: undefined });
    return false;
  });
}
