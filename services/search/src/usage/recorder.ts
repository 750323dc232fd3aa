import { type Caller, defaultOrgId } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import { homeOf, newId } from '@commonplace/kit/id';
import type { Log } from '@commonplace/kit/log';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import {
  CreditSource,
  type MeteringService,
  RecordUsageRequest,
  type UsageAttribution,
  UsageSource,
} from '@commonplace/proto/tenancy/v1/credit_service.js';
import type { CountedTokens } from '../embedding/port.js';

/** Tenant, person and model to which tokens are attributed. `tenant` is as in `RecordUsageRequest`. */
interface TokenUse extends Partial<UsageAttribution> {
  readonly tenant: string;
  readonly feature: 'search' | 'embedding';
  readonly model: string;
}

/**
 * Reports the tokens that were sent to a provider, in the background and with retries. A killed process loses the
 * counts of the last seconds.
 */
export interface UsageRecorder {
  add(use: TokenUse, counted: CountedTokens): void;
  /** Reports what is left. */
  close(): Promise<void>;
}

interface RecorderOptions {
  readonly metering: Pick<Client<MeteringService>, 'recordUsage'>;
  readonly systemCall: () => CallOptions;
  readonly log: Log;
  readonly flushMs?: number;
}

interface Pending {
  readonly use: TokenUse;
  readonly isEstimated: boolean;
  tokens: number;
  requests: number;
}

interface Report extends Pending {
  /** The same in every attempt, so that the report is counted once. */
  readonly id: string;
}

const FLUSH_MS = 5_000;
/** Maximum number of pending sums and reports; further ones are dropped while tenancy is unavailable. */
const MAX_PENDING = 2_000;

export function createUsageRecorder({ metering, systemCall, log, flushMs = FLUSH_MS }: RecorderOptions): UsageRecorder {
  const pending = new Map<string, Pending>();
  let reports: Report[] = [];
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();

  function schedule(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      last = last.then(flush);
    }, flushMs).unref();
  }

  async function flush(): Promise<void> {
    for (const sum of pending.values()) reports.push({ ...sum, id: newId() });
    pending.clear();
    const left: Report[] = [];
    for (const report of reports) if (!(await isDone(report))) left.push(report);
    reports = left;
    if (left.length > 0) schedule();
  }

  /** Sends a report. Returns whether it is done: it was accepted, or a retry would never succeed. */
  async function isDone(report: Report): Promise<boolean> {
    try {
      await metering.recordUsage(toRequest(report), systemCall());
      return true;
    } catch (error) {
      const isRefused = error instanceof AppError && ['NOT_FOUND', 'INVALID_ARGUMENT'].includes(error.code);
      if (!isRefused) log.warn('usage.not_recorded', { error, tenant: report.use.tenant });
      return isRefused;
    }
  }

  return {
    add(use, { tokens, isEstimated }) {
      const key = JSON.stringify([use, isEstimated]);
      const known = pending.get(key);
      if (known !== undefined) {
        known.tokens += tokens;
        known.requests += 1;
      } else if (pending.size + reports.length < MAX_PENDING) {
        pending.set(key, { use, isEstimated, tokens, requests: 1 });
      }
      schedule();
    },
    async close() {
      clearTimeout(timer);
      timer = undefined;
      last = last.then(flush);
      await last;
      clearTimeout(timer);
    },
  };
}

/** Returns the tenant and the person that a caller's search is attributed to. */
export function attributionOf(caller: Caller): Pick<TokenUse, 'tenant' | 'userId' | 'apiKeyId'> {
  const { userId, credential } = caller;
  return {
    tenant: defaultOrgId(caller) ?? homeOf(userId),
    userId,
    ...(credential.type === 'api_key' && { apiKeyId: credential.id }),
  };
}

function toRequest({ id, use: { tenant, ...attribution }, tokens, requests, isEstimated }: Report): RecordUsageRequest {
  const isQuery = attribution.feature === 'search';
  return RecordUsageRequest.fromPartial({
    key: { source: isQuery ? CreditSource.SEARCH : CreditSource.EMBEDDING, sourceId: id },
    ...{ tenant, inputTokens: tokens, requests, credits: '0', attribution },
    source: isEstimated ? UsageSource.ESTIMATED : UsageSource.PROVIDER,
  });
}
