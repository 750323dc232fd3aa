import { AppError } from '@commonplace/kit/errors';
import { gauge, rateLimited } from '@commonplace/kit/telemetry';
import type { Settings } from '../config.js';
import { tooManyAtOnce } from '../middleware/in-progress.js';
import type { WatchUtilization } from './watch-utilization.js';

export interface FairSharesOptions {
  /**
   * Utilization of the busiest event loop, from 0 to 1, above which tenants wait for their share; at 1 none ever waits.
   */
  readonly utilization: number;
  /** Bytes of bodies and answers a second that one tenant gets while a process is busy. */
  readonly bytesPerSecond: number;
  /** Maximum number of waiting requests of one tenant; undefined for no limit. */
  readonly maxWaiting: number | undefined;
}

/** Returns the shares that the settings ask for. */
export function sharesOf({ shareUtilization, shareBytes, rateLimits }: Settings): FairSharesOptions {
  return {
    utilization: shareUtilization / 100,
    bytesPerSecond: shareBytes,
    maxWaiting: rateLimits.tenant_waiting,
  };
}

/** A request in progress. */
export interface RunningRequest {
  readonly tenant: string;
  /** Time of its start, as `performance.now()`. */
  readonly since: number;
  /** Bytes of its body and its answer so far. */
  bytes: number;
}

/**
 * Shares this process and those that it calls between tenants. While one of them is busy and several tenants send
 * requests, all tenants may have the same number of requests in progress and the same number of bytes a second; further
 * requests wait.
 */
export interface FairShares {
  /**
   * Enters a request of a tenant, if necessary after others of the same tenant. Throws or rejects with
   * `concurrency_limited` if too many wait already, or if the request has not started by `until`, in milliseconds since
   * 1970.
   */
  enter(tenant: string, until: number): RunningRequest | Promise<RunningRequest>;
  /** Ends a request that has entered. */
  leave(request: RunningRequest): void;
  close(): void;
}

interface WaitingRequest {
  readonly until: number;
  start(): void;
  refuse(): void;
}

interface Tenant {
  readonly name: string;
  /** Requests in progress, the oldest first. */
  readonly running: Set<RunningRequest>;
  readonly waiting: WaitingRequest[];
  /**
   * The next request starts no earlier than this, because of the time that earlier ones took; as `performance.now()`.
   */
  startsAt: number;
  /** Starts requests at `startsAt`; undefined if none waits for that. */
  timer: NodeJS.Timeout | undefined;
  /** Time of the last end of a request, as `performance.now()`. */
  seen: number;
  /** Time when a request last came before an earlier one had ended, as `performance.now()`. */
  overlapped: number;
}

/** Milliseconds without a request after which a tenant has no share. */
const ABSENT_MS = 1000;
/**
 * Milliseconds after which a running request no longer counts. One that takes so long mostly waits for a model, a client
 * or a worker, and workers are shared by a queue of their own.
 */
const COUNTED_MS = 1000;
/**
 * Relative change of `maxRunning` in 20 ms for each unit of utilization above and below its limit. It falls faster than
 * it grows, because others wait while too many requests run.
 */
const FALL = 1;
const GROWTH = 0.5;
/** Weight of the latest measurement in the utilization, which is averaged over about 100 ms. */
const SMOOTHING = 0.3;
/** Bytes up to which requests are only counted: what they cost does not depend on their bytes. */
const LARGE_BYTES = 64 * 1024;
/**
 * Minimum number of running requests of a tenant. With less than one, a tenant that sends requests in parallel pauses
 * after each of them: with a half, for as long as the request took.
 */
const MIN_SHARE = 0.05;
/** Milliseconds after which requests in parallel are forgotten. */
const OVERLAPPED_MS = 1000;
/** Maximum pause in milliseconds after one request, so that no tenant waits long for what others use. */
const MAX_PAUSE_MS = 12;
/** Milliseconds of pauses that a tenant saves up while it sends nothing, so that the requests of one page do not pause. */
const CREDIT_MS = 150;
/** Value of `maxRunning` from which on nobody waits, if no process was busy for a while. */
const MANY_RUNNING = 1000;
/**
 * Milliseconds without a busy process after which bytes delay nobody. What is large keeps a process busy only while
 * nothing delays it: with half a second, downloads took turns of full speed and of waiting.
 */
const CALM_MS = 3000;

const waitingRequests = gauge(
  'share.waiting',
  '{request}',
  'Requests that wait until others of their tenant have ended, because a process is busy.',
);

/** Creates the shares. As long as a single tenant sends requests, none of them waits. */
export function createFairShares(options: FairSharesOptions, watch: WatchUtilization): FairShares {
  const { utilization, bytesPerSecond, maxWaiting = Number.POSITIVE_INFINITY } = options;
  const tenants = new Map<string, Tenant>();
  const watching = watch(update);
  /** Average utilization. */
  let smoothed = 0;
  /** Maximum number of running requests of all tenants; infinite while nobody has to wait. */
  let maxRunning = Number.POSITIVE_INFINITY;
  /** Time when a process was last busy, as `performance.now()`. */
  let busyAt = Number.NEGATIVE_INFINITY;
  const unobserve = waitingRequests.observe(() => [{ attributes: {}, value: countWaiting(tenants.values()) }]);

  function tenantOf(name: string): Tenant {
    let tenant = tenants.get(name);
    if (tenant === undefined) {
      tenant = {
        name,
        running: new Set(),
        waiting: [],
        startsAt: 0,
        timer: undefined,
        seen: performance.now(),
        overlapped: Number.NEGATIVE_INFINITY,
      };
      tenants.set(name, tenant);
      if (tenants.size === 2) watching.start();
    }
    return tenant;
  }

  /** Takes a measurement of the utilization, and starts, refuses and forgets what is due. */
  function update(busy: number): void {
    const now = performance.now();
    let running = 0;
    for (const tenant of tenants.values()) {
      forgetLong(tenant, now - COUNTED_MS);
      refuseLate(tenant);
      running += tenant.running.size;
      const isAbsent = tenant.running.size + tenant.waiting.length === 0 && now - tenant.seen > ABSENT_MS;
      if (isAbsent) tenants.delete(tenant.name);
    }
    if (tenants.size < 2) {
      maxRunning = Number.POSITIVE_INFINITY;
      smoothed = 0;
      watching.stop();
    } else adapt(busy, running);
    for (const tenant of tenants.values()) startWaiting(tenant);
  }

  /** Adapts `maxRunning` to the utilization: quickly down, and slowly up again. */
  function adapt(busy: number, running: number): void {
    smoothed += (busy - smoothed) * SMOOTHING;
    const spare = utilization - smoothed;
    const now = performance.now();
    if (spare < 0) busyAt = now;
    else if (!isShared()) return;
    const next = (isShared() ? maxRunning : running) * (1 + (spare < 0 ? FALL : GROWTH) * spare);
    const most = now - busyAt < CALM_MS ? MANY_RUNNING : Number.POSITIVE_INFINITY;
    maxRunning = next < MANY_RUNNING ? Math.max(tenants.size * MIN_SHARE, next) : most;
  }

  const isShared = () => maxRunning !== Number.POSITIVE_INFINITY;

  function mayStart({ running, startsAt }: Tenant, now: number): boolean {
    if (!isShared()) return true;
    return running.size < Math.max(1, Math.floor(maxRunning / tenants.size)) && startsAt <= now;
  }

  /** Returns the milliseconds for which a tenant pauses after a request. */
  function pauseAfter({ bytes, since }: RunningRequest, { seen, overlapped }: Tenant): number {
    const share = maxRunning / tenants.size;
    const pauses = share < 1 && seen - overlapped < OVERLAPPED_MS;
    const forTime = pauses ? Math.min((seen - since) * (1 / share - 1), MAX_PAUSE_MS) : 0;
    return Math.max(forTime, bytes > LARGE_BYTES ? (bytes / bytesPerSecond) * 1000 : 0);
  }

  function startWaiting(tenant: Tenant): void {
    // One time for both: a pause that ends between two readings of the clock would set no timer.
    const now = performance.now();
    while (tenant.waiting.length > 0 && mayStart(tenant, now)) tenant.waiting.shift()?.start();
    const pause = tenant.startsAt - now;
    if (tenant.waiting.length === 0 || pause <= 0 || tenant.timer !== undefined) return;
    tenant.timer = setTimeout(() => {
      tenant.timer = undefined;
      startWaiting(tenant);
    }, pause);
  }

  function start(tenant: Tenant): RunningRequest {
    const request = { tenant: tenant.name, since: performance.now(), bytes: 0 };
    tenant.running.add(request);
    return request;
  }

  return {
    enter(name, until) {
      const tenant = tenantOf(name);
      if (tenant.running.size + tenant.waiting.length > 0) tenant.overlapped = performance.now();
      if (tenant.waiting.length === 0 && mayStart(tenant, performance.now())) return start(tenant);
      if (tenant.waiting.length >= maxWaiting) throw tooManyWaiting(maxWaiting);
      return new Promise((resolve, reject) => {
        const begin = () => resolve(start(tenant));
        tenant.waiting.push({ until, start: begin, refuse: () => reject(waitedTooLong()) });
        startWaiting(tenant);
      });
    },
    leave(request) {
      const tenant = tenants.get(request.tenant);
      if (tenant === undefined) return;
      tenant.running.delete(request);
      tenant.seen = performance.now();
      if (isShared())
        tenant.startsAt = Math.max(tenant.startsAt, tenant.seen - CREDIT_MS) + pauseAfter(request, tenant);
      startWaiting(tenant);
    },
    close() {
      watching.stop();
      unobserve();
    },
  };
}

function countWaiting(tenants: Iterable<Tenant>): number {
  let count = 0;
  for (const { waiting } of tenants) count += waiting.length;
  return count;
}

/** Stops counting requests that started before `before`. */
function forgetLong({ running }: Tenant, before: number): void {
  for (const request of running) {
    if (request.since > before) return;
    running.delete(request);
  }
}

/** Refuses requests whose time is over. Their deadlines differ by kind of request, so all are compared. */
function refuseLate({ waiting }: Tenant): void {
  const now = Date.now();
  for (let i = waiting.length - 1; i >= 0; i--) {
    if ((waiting[i] as WaitingRequest).until <= now) waiting.splice(i, 1)[0]?.refuse();
  }
}

function tooManyWaiting(limit: number): AppError {
  return tooManyAtOnce('tenant_waiting', limit, `More than ${limit} requests of one tenant wait for others to end.`);
}

function waitedTooLong(): AppError {
  const policy = 'tenant_waiting';
  rateLimited.bind({ policy }).add();
  const message = 'Other requests of this tenant used up the time for this one. Send fewer at the same time.';
  const details = { policy, reason: 'concurrency' };
  return new AppError('RESOURCE_EXHAUSTED', 'concurrency_limited', message, { details, retryAfter: 1 });
}
