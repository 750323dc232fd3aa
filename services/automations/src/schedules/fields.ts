import { type Fault, invalidField, invalidFields } from '@commonplace/kit/errors';
import { jsonBytes } from '@commonplace/kit/json';
import { canonicalTimezone } from '@commonplace/kit/timezone';
import { foldName } from '@commonplace/kit/words';
import { namesByValue } from '@commonplace/platform/enums';
import {
  DeliveryTargetType,
  ScheduleCatchup,
  ScheduleOverlap,
  type ScheduleTarget,
  ScheduleTargetType,
} from '@commonplace/proto/automations/v1/schedule.js';
import type {
  CreateScheduleRequest,
  UpdateScheduleRequest,
} from '@commonplace/proto/automations/v1/schedule_service.js';
import { cronFault, minPeriodSeconds } from './cron.js';
import { type InputRules, readInput } from './input.js';
import type { Catchup, Delivery, Overlap, ScheduleRecord, TargetType } from './records.js';
import { nextSlot, type Timing } from './slots.js';

/** The fields of a schedule that requests set, besides its target. */
type ScheduleFields = Pick<
  ScheduleRecord,
  | ('name' | 'nameFold' | 'input' | 'timing' | 'maxRuns' | 'overlap' | 'catchup')
  | ('catchupWindowSeconds' | 'pauseAfterFailures' | 'deliverTo')
>;

export interface Target {
  readonly type: TargetType;
  readonly id: string;
  /** The request field that names the target. */
  readonly param: string;
}

type TargetFields = {
  target: ScheduleTarget | undefined;
  agentId?: string | undefined;
  automationId?: string | undefined;
};

/** The shortest period in seconds for agents, whose runs cost credits; automations may start every minute. */
const MIN_AGENT_PERIOD_SECONDS = 300;

/**
 * Request fields whose change makes the schedule run with the caller's rights: target, input, time and recipient of the
 * answer.
 */
const ACTING = [
  ...['target', 'agent_id', 'automation_id', 'input', 'deliver_to'],
  ...['cron', 'interval_seconds', 'run_at', 'timezone', 'start_at', 'end_at', 'max_runs', 'jitter_seconds'],
];
const TIMING = ['cron', 'interval_seconds', 'run_at', 'timezone', 'start_at', 'end_at', 'jitter_seconds'];

/** Returns whether a mask names one of the fields; a path inside a message counts for the message. */
const names = (mask: readonly string[], fields: readonly string[]): boolean =>
  mask.some((path) => fields.includes(path.split('.')[0] ?? ''));

export const changesActing = (mask: readonly string[]): boolean => names(mask, ACTING);
export const changesTiming = (mask: readonly string[]): boolean => names(mask, TIMING);
export const changesTarget = (mask: readonly string[]): boolean => names(mask, ['target', 'agent_id', 'automation_id']);

/** Fields of the contract that a read shows as null if a schedule has another timing or target, and their names here. */
const ALTERNATIVES = {
  cron: 'cron',
  interval_seconds: 'intervalSeconds',
  run_at: 'runAt',
  agent_id: 'agentId',
  automation_id: 'automationId',
} as const;
type Alternative = keyof typeof ALTERNATIVES;

const changesKind = (mask: readonly string[]): boolean => names(mask, ['cron', 'interval_seconds', 'run_at']);

/**
 * Returns the mask of a change without the alternatives that are null, so that a schedule can be sent as it was read.
 * Throws if the schedule would be left without a timing or a target.
 */
export function maskWithoutNulls(
  request: UpdateScheduleRequest,
  { timing, agentId, automationId }: ScheduleRecord,
): string[] {
  const { updateMask = [] } = request;
  const isNull = (path: string): path is Alternative =>
    Object.hasOwn(ALTERNATIVES, path) && request[ALTERNATIVES[path as Alternative]] === undefined;
  const rest = updateMask.filter((path) => !isNull(path));
  const held = { ...timing, agentId, automationId };
  for (const path of updateMask.filter(isNull)) {
    const isReplaced = path === 'agent_id' || path === 'automation_id' ? changesTarget(rest) : changesKind(rest);
    if (held[ALTERNATIVES[path]] !== undefined && !isReplaced) {
      throw invalidField(path, 'missing_field', `${path} must not be null unless another field takes its place.`);
    }
  }
  return rest;
}

/** Returns the target that a request names; undefined if it names none. Throws if it names two different ones. */
export function targetIn({ target, agentId, automationId }: TargetFields): Target | undefined {
  const named: Target[] = [];
  if (agentId !== undefined) named.push({ type: 'agent', id: agentId, param: 'agent_id' });
  if (automationId !== undefined) named.push({ type: 'automation', id: automationId, param: 'automation_id' });
  if (target !== undefined) {
    const type = target.type === ScheduleTargetType.AGENT ? 'agent' : 'automation';
    named.push({ type, id: target.id, param: 'target.id' });
  }
  const [first, ...others] = named;
  const other = others.find(({ type, id }) => type !== first?.type || id !== first.id);
  if (other === undefined) return first;
  throw invalidField(other.param, 'conflicting_alias', `${other.param} and ${first?.param} name different targets.`);
}

/** Returns the fields of a new schedule. Throws an error that lists all faults. */
export function readNewSchedule(
  request: CreateScheduleRequest,
  { timezone, now, ...rules }: InputRules & { readonly timezone: string; readonly now: number },
): ScheduleFields {
  const { targetType } = rules;
  const faults: Fault[] = [];
  const { name, cron, intervalSeconds, runAt, startAt, endAt, jitterSeconds = 0 } = request;
  if (!requireOneKind({ cron, intervalSeconds, runAt })) {
    throw invalidField('cron', 'missing_field', 'cron, interval_seconds or run_at is required.');
  }
  const createdAt = new Date(now).toISOString();
  const timing: Timing = {
    ...{ timezone: spelled(timezone), startAt: timeOf(startAt), endAt: timeOf(endAt), createdAt, jitterSeconds },
    ...kindOf({ cron, intervalSeconds, runAt }),
  };
  const fields: ScheduleFields = {
    ...{ ...named(name), timing, maxRuns: request.maxRuns, input: readInput(request.input, rules, faults) },
    overlap: OVERLAPS[request.overlap] ?? 'skip',
    catchup: CATCHUPS[request.catchup] ?? 'latest',
    catchupWindowSeconds: request.catchupWindowSeconds ?? 3_600,
    pauseAfterFailures: request.pauseAfterFailures ?? 10,
    deliverTo: deliveryIn(request.deliverTo, targetType, faults),
  };
  checkTiming(timing, targetType, now, faults);
  if (faults.length > 0) throw invalidFields(faults);
  return fields;
}

/** Returns the fields after a change. Throws an error that lists all faults. */
export function readChange(
  request: UpdateScheduleRequest,
  before: ScheduleRecord,
  { runCount, now, ...rules }: InputRules & { readonly runCount: number; readonly now: number },
): ScheduleFields {
  const { targetType } = rules;
  const faults: Fault[] = [];
  const mask = request.updateMask ?? [];
  const has = (field: string) => names(mask, [field]);
  const timing = changedTiming(request, before.timing, has);
  const hasNewType = targetType !== before.targetType;
  const fields: ScheduleFields = {
    ...{ ...named(request.name ?? before.name), timing },
    maxRuns: has('max_runs') ? request.maxRuns : before.maxRuns,
    input: has('input') ? readInput(request.input, rules, faults) : before.input,
    overlap: OVERLAPS[request.overlap] ?? before.overlap,
    catchup: CATCHUPS[request.catchup] ?? before.catchup,
    catchupWindowSeconds: request.catchupWindowSeconds ?? before.catchupWindowSeconds,
    pauseAfterFailures: request.pauseAfterFailures ?? before.pauseAfterFailures,
    deliverTo: has('deliver_to') ? deliveryIn(request.deliverTo, targetType, faults) : before.deliverTo,
  };
  if (hasNewType && !has('input')) readInput(jsonBytes(before.input), rules, faults);
  if (hasNewType && targetType === 'automation' && fields.deliverTo !== undefined && !has('deliver_to')) {
    add(faults, 'deliver_to', 'invalid_value', FOR_AGENTS);
  }
  if (changesTiming(mask) || hasNewType) checkTiming(timing, targetType, now, faults, has);
  if (has('max_runs') && fields.maxRuns !== undefined && fields.maxRuns <= runCount) {
    add(faults, 'max_runs', 'invalid_value', `must be more than the ${runCount} runs that there were.`);
  }
  if (faults.length > 0) throw invalidFields(faults);
  return fields;
}

const named = (name: string): Pick<ScheduleRecord, 'name' | 'nameFold'> => ({ name, nameFold: foldName(name) });

function changedTiming(request: UpdateScheduleRequest, before: Timing, has: (field: string) => boolean): Timing {
  const { cron, intervalSeconds, runAt, timezone = before.timezone, jitterSeconds = before.jitterSeconds } = request;
  const isNewKind = requireOneKind({ cron, intervalSeconds, runAt });
  return {
    ...{ createdAt: before.createdAt, timezone: spelled(timezone), jitterSeconds },
    startAt: has('start_at') ? timeOf(request.startAt) : before.startAt,
    endAt: has('end_at') ? timeOf(request.endAt) : before.endAt,
    ...kindOf(isNewKind ? { cron, intervalSeconds, runAt } : before),
  };
}

/** The alternatives for the timing of a schedule, of which one is set. */
interface Kind {
  readonly cron?: string | undefined;
  readonly intervalSeconds?: number | undefined;
  readonly runAt?: string | undefined;
}

/** Returns whether a request sets the kind of timing. Throws if it sets two kinds. */
function requireOneKind({ cron, intervalSeconds, runAt }: Kind): boolean {
  const given = Object.entries({ cron, interval_seconds: intervalSeconds, run_at: runAt });
  const [first, second] = given.flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (second !== undefined) throw invalidField(second, 'ambiguous_target', `${second} does not go with ${first}.`);
  return first !== undefined;
}

const kindOf = ({ cron, intervalSeconds, runAt }: Kind) => ({
  ...(cron !== undefined && { cron: cron.trim() }),
  ...(intervalSeconds !== undefined && { intervalSeconds }),
  ...(runAt !== undefined && { runAt: timeOf(runAt) }),
});

/** Returns the canonical spelling of a time zone; an unknown one unchanged, as it is refused later. */
const spelled = (timezone: string): string => canonicalTimezone(timezone) ?? timezone;

const timeOf = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : new Date(text).toISOString();

/** Returns a value as JSON bytes; no bytes for undefined. */
function add(faults: Fault[], param: string, code: string, message: string): void {
  faults.push({ param, code, message: `${param} ${message}` });
}

// ---- timing

function checkTiming(
  timing: Timing,
  targetType: TargetType,
  now: number,
  faults: Fault[],
  has: (field: string) => boolean = () => true,
): void {
  const before = faults.length;
  const { cron, intervalSeconds, runAt, timezone, startAt, endAt } = timing;
  if (canonicalTimezone(timezone) === undefined) {
    add(faults, 'timezone', 'invalid_timezone', 'must be a time zone of the IANA database, such as Europe/Berlin.');
    return;
  }
  if (endAt !== undefined && endAt <= (startAt ?? ''))
    add(faults, 'end_at', 'invalid_value', 'must be after start_at.');
  else if (endAt !== undefined && Date.parse(endAt) <= now) add(faults, 'end_at', 'invalid_value', IN_FUTURE);
  if (runAt !== undefined && Date.parse(runAt) <= now && has('run_at'))
    add(faults, 'run_at', 'invalid_value', IN_FUTURE);
  if (cron !== undefined) checkCron(cron, timing, targetType, now, faults);
  if (targetType === 'agent' && (intervalSeconds ?? MIN_AGENT_PERIOD_SECONDS) < MIN_AGENT_PERIOD_SECONDS) {
    add(faults, 'interval_seconds', 'invalid_value', `must be at least ${MIN_AGENT_PERIOD_SECONDS} for an agent.`);
  }
  if (faults.length > before || nextSlot(timing, now) !== undefined) return;
  const param =
    runAt !== undefined && (startAt === undefined || startAt > runAt) && endAt === undefined ? 'run_at' : 'end_at';
  add(faults, param, 'invalid_value', 'leaves no time at which the schedule would fire.');
}

const IN_FUTURE = 'must be in the future.';

function checkCron(
  cron: string,
  { timezone, startAt }: Timing,
  targetType: TargetType,
  now: number,
  faults: Fault[],
): void {
  const from = startAt === undefined ? now : Math.max(now, Date.parse(startAt));
  const fault = cronFault(cron, timezone, from);
  if (fault !== undefined) add(faults, 'cron', 'invalid_cron', fault);
  if (fault !== undefined || targetType !== 'agent' || minPeriodSeconds(cron) >= MIN_AGENT_PERIOD_SECONDS) return;
  add(
    faults,
    'cron',
    'invalid_cron',
    `must leave an agent at least ${MIN_AGENT_PERIOD_SECONDS} seconds between two fires.`,
  );
}

// ---- enums

const OVERLAPS: Readonly<Partial<Record<ScheduleOverlap, Overlap>>> = namesByValue(ScheduleOverlap);
const CATCHUPS: Readonly<Partial<Record<ScheduleCatchup, Catchup>>> = namesByValue(ScheduleCatchup);
const FOR_AGENTS = 'is for agents; an automation sends messages by its actions.';

function deliveryIn(
  given: CreateScheduleRequest['deliverTo'],
  targetType: TargetType,
  faults: Fault[],
): Delivery | undefined {
  if (given === undefined) return undefined;
  if (targetType === 'automation') add(faults, 'deliver_to', 'invalid_value', FOR_AGENTS);
  return { type: given.type === DeliveryTargetType.CHAT_SESSION ? 'chat_session' : 'im_conversation', id: given.id };
}
