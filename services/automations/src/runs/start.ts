import type { UnitOfWork } from '@commonplace/kit/store';
import { traceparentNow } from '@commonplace/kit/telemetry';
import type { ActsAs } from '../acts-as.js';
import type { Settings } from '../config.js';
import type { AutomationRecord } from '../definitions/records.js';
import { finishedEvent } from './finished-event.js';
import { type Admission, admit, type LaneParts } from './lane.js';
import type { AutomationRunRecord, SkipReason, StoredRunTrigger, Taint } from './records.js';
import { deleteAfter } from './retention.js';

export interface RunRecords extends LaneParts {
  readonly settings: Pick<Settings, 'automationQueue' | 'automationRunDays'>;
}

/** A request to start a run of an automation. */
export interface RunRequest {
  /** Derived from the automation and the trigger if a repeated trigger must not start another run. */
  readonly id: string;
  readonly trigger: StoredRunTrigger;
  readonly input: Readonly<Record<string, unknown>>;
  readonly taints?: readonly Taint[];
  readonly chain?: readonly string[];
  /** The person whose rights it has, if not the one who set the automation up. */
  readonly actsAs?: ActsAs;
  readonly dryRun?: boolean;
  readonly retryOf?: string;
  /** Where a repeated run begins, and what it keeps of the earlier run. */
  readonly from?: Pick<AutomationRunRecord, 'position' | 'stepCount' | 'data' | 'keptKey'>;
  /** The version to execute, if not the current one. */
  readonly definitionVersion?: number;
  /** Why the run is only recorded, and not executed. */
  readonly skipReason?: SkipReason;
}

/**
 * Creates a run of an automation in a unit of work. Depending on the automation's `concurrency`, the run is due at
 * once, waits for earlier runs or is skipped. Runs of one automation are numbered in commit order. Returns the existing
 * run if there is one with the same id.
 */
export async function startRun(
  { runs, lanes, settings }: RunRecords,
  automation: AutomationRecord,
  request: RunRequest,
  work: UnitOfWork,
  now: number,
): Promise<AutomationRunRecord> {
  const there = await work.get(runs, request.id);
  if (there !== undefined) return there;
  const { id, tenant, definition } = automation;
  const found = await work.get(lanes, id);
  const lane = found ?? { id, tenant, lastSeq: 0, active: 0, queued: 0, failureCount: 0 };
  const seq = lane.lastSeq + 1;
  const admission =
    request.skipReason ?? (request.dryRun ? 'due' : admit(definition.concurrency, lane, settings.automationQueue));
  const run = work.insert(runs, newRun(automation, request, seq, admission, settings, now));
  const counted = request.dryRun
    ? {}
    : { active: lane.active + Number(admission === 'due'), queued: lane.queued + Number(admission === 'behind') };
  const next = { ...lane, lastSeq: seq, ...counted };
  if (found === undefined) work.insert(lanes, next);
  else work.replace(lanes, found, next);
  if (run.status === 'skipped' && !run.dryRun) work.publish(finishedEvent(run, { status: 'skipped' }));
  return run;
}

function newRun(
  { id: automationId, name, tenant, orgId, workspaceId, definition, ...automation }: AutomationRecord,
  request: RunRequest,
  seq: number,
  admission: Admission,
  settings: RunRecords['settings'],
  now: number,
): Omit<AutomationRunRecord, 'version'> {
  const at = new Date(now).toISOString();
  const { trigger, input, taints = [], chain = [], dryRun = false, retryOf, from } = request;
  const { definitionVersion = automation.definitionVersion } = request;
  const about = { id: request.id, tenant, orgId, workspaceId, automationId, automationName: name, definitionVersion };
  const begun = { position: 0, stepCount: 0, ...from, traceparent: traceparentNow() };
  const actsAs = request.actsAs ?? definition.actsAs;
  const run = { ...about, ...begun, seq, trigger, input, taints, chain, dryRun, retryOf, actsAs, createdAt: at };
  if (admission === 'due') return { ...run, status: 'queued', dueAt: at };
  if (admission === 'behind') return { ...run, status: 'queued' };
  const ended = { finishedAt: at, deleteAt: deleteAfter(settings, now) };
  return { ...run, status: 'skipped', skipReason: admission, ...ended };
}
