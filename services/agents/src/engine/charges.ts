import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@commonplace/kit/errors';
import { approvalKey, attributionOf, sourceOf } from '../credits/attribution.js';
import type { Ledger } from '../credits/ledger.js';
import { settleLater } from '../credits/settlements.js';
import type { ChargeKey } from '../domain/charge.js';
import { parseCredits } from '../domain/micros.js';
import type { Parts } from '../parts.js';
import type { RunRecord, Spent, StepRecord } from '../stores/runs.js';
import { RunFailure } from './failure.js';

/** Milliseconds between two renewals of a reservation. */
const RENEW_MS = 60_000;
/** Milliseconds between two tries to reserve. */
const LOOK_MS = 1_000;
/** Milliseconds after which a reservation that nobody renews has ended, and some more. */
const MAX_WAIT_MS = 360_000;
const NO_CREDIT: ReadonlySet<string> = new Set(['insufficient_credits', 'usage_cap_reached']);

/** Reserves and charges what the steps of one run cost. */
export class Charges {
  private readonly ledger: Ledger;

  constructor(
    private readonly parts: Pick<Parts, 'ledger' | 'store' | 'settlements'>,
    private readonly run: RunRecord,
    /** Aborts when the run ends, or is worked on no more. */
    private readonly signal: AbortSignal,
  ) {
    this.ledger = parts.ledger;
  }

  /**
   * Reserves what an attempt may cost at the most. While nothing but reservations of other work is in the way it waits for
   * them to end, and while the ledger is not reached for that. Throws the failure of the run if there is not as much.
   */
  async reserve(step: StepRecord, micros: number): Promise<void> {
    const until = Date.now() + MAX_WAIT_MS;
    for (;;) {
      try {
        await this.ledger.reserve(this.keyOf(step), attributionOf(this.run), micros, { max: this.run.maxMicros });
        return;
      } catch (error) {
        if (!isUnreachable(error)) {
          if (!(error instanceof AppError) || !NO_CREDIT.has(error.reason)) throw error;
          if (!isHeldByOthers(error) || Date.now() >= until) throw new RunFailure('credit_limit', error.message, false);
        }
      }
      await this.pause();
    }
  }

  /** Releases what was reserved when approvals were given, before the step after them reserves what it needs. */
  async releaseApprovals(approvalIds: readonly string[]): Promise<void> {
    await Promise.all(approvalIds.map((id) => this.ledger.release(approvalKey(this.run, id))));
  }

  /** Keeps a reservation while `work` goes on. */
  async keep<T>(step: StepRecord, work: () => Promise<T>): Promise<T> {
    const renewal = setInterval(() => void this.ledger.renew(this.keyOf(step)).catch(() => {}), RENEW_MS);
    try {
      return await work();
    } finally {
      clearInterval(renewal);
    }
  }

  /**
   * Charges an attempt with what it has used, and releases the rest of its reservation. While the ledger is not reached it
   * waits; what the end of the run leaves uncharged is charged later.
   */
  async settle(step: StepRecord, spent: Spent): Promise<void> {
    const key = this.keyOf(step);
    const about = attributionOf(this.run);
    const isUnused = spent.inputTokens + spent.outputTokens === 0;
    for (;;) {
      try {
        return await (isUnused ? this.ledger.release(key) : this.ledger.settle(key, about, spent));
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        if (this.signal.aborted) return isUnused ? undefined : settleLater(this.parts, key, about, spent);
      }
      await this.pause().catch(() => {});
    }
  }

  private async pause(): Promise<void> {
    await sleep(randomInt(LOOK_MS / 2, LOOK_MS), undefined, { signal: this.signal });
  }

  private keyOf({ seq, attempt }: StepRecord): ChargeKey {
    return { source: sourceOf(this.run), runId: this.run.id, step: seq, attempt };
  }
}

/** Returns whether a call has failed because the ledger is not there, or not in time. */
function isUnreachable(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'UNAVAILABLE' || error.code === 'DEADLINE_EXCEEDED');
}

/** Returns whether credits would suffice, and caps allow it, once the reservations of other work have ended. */
function isHeldByOthers({ reason, details = {} }: AppError): boolean {
  const micros = (name: string) => {
    const text = details[name];
    return typeof text === 'string' ? parseCredits(text) : undefined;
  };
  const [reserved = 0, needed] = [micros('reserved'), micros('needed')];
  if (reserved === 0 || needed === undefined) return false;
  if (reason === 'insufficient_credits') {
    const available = micros('available');
    return available !== undefined && available + reserved >= needed;
  }
  const [limit, taken] = [micros('limit'), micros('taken')];
  return limit !== undefined && taken !== undefined && taken - reserved + needed <= limit;
}
