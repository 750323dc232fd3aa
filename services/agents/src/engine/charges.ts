import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, isPassing } from '@commonplace/kit/errors';
import { attributionOf, sourceOf } from '../credits/attribution.js';
import type { Ledger } from '../credits/ledger.js';
import { settleLater } from '../credits/settlements.js';
import type { ChargeKey } from '../domain/charge.js';
import { parseCredits } from '../domain/micros.js';
import type { Parts } from '../parts.js';
import type { RunRecord, Spent, StepRecord } from '../stores/runs.js';
import { RunFailure } from './failure.js';

/** Milliseconds between two renewals of a reservation. */
const RENEW_MS = 60_000;
/** Maximum milliseconds between two attempts to reserve. */
const LOOK_MS = 1_000;
/** Milliseconds to wait for other reservations; a little longer than a reservation lasts without renewal. */
const MAX_WAIT_MS = 360_000;
const NO_CREDIT: ReadonlySet<string> = new Set(['insufficient_credits', 'usage_cap_reached']);

/** Reserves and charges what the steps of one run cost. */
export class Charges {
  private readonly ledger: Ledger;

  constructor(
    private readonly parts: Pick<Parts, 'ledger' | 'store' | 'settlements'>,
    private readonly run: RunRecord,
    /** Aborts when the run ends or this worker no longer works on it. */
    private readonly signal: AbortSignal,
  ) {
    this.ledger = parts.ledger;
  }

  /**
   * Reserves the maximum cost of an attempt. It waits while only reservations of other work prevent it, and while
   * the ledger cannot be reached. Throws the run failure `credit_limit` if the credits do not suffice.
   */
  async reserve(step: StepRecord, micros: number): Promise<void> {
    const until = Date.now() + MAX_WAIT_MS;
    for (;;) {
      try {
        await this.ledger.reserve(this.keyOf(step), attributionOf(this.run), micros, { max: this.run.maxMicros });
        return;
      } catch (error) {
        if (!isPassing(error)) {
          if (!(error instanceof AppError) || !NO_CREDIT.has(error.reason)) throw error;
          if (!isHeldByOthers(error) || Date.now() >= until) throw new RunFailure('credit_limit', error.message, false);
        }
      }
      await this.pause();
    }
  }

  /** Renews a reservation while `work` is running. */
  async keep<T>(step: StepRecord, work: () => Promise<T>): Promise<T> {
    const renewal = setInterval(() => void this.ledger.renew(this.keyOf(step)).catch(() => {}), RENEW_MS);
    try {
      return await work();
    } finally {
      clearInterval(renewal);
    }
  }

  /**
   * Charges the used amount of an attempt and releases the rest of its reservation. It waits while the ledger cannot be
   * reached; if the run ends in the meantime, the charge is enqueued.
   */
  async settle(step: StepRecord, spent: Spent): Promise<void> {
    const key = this.keyOf(step);
    const about = attributionOf(this.run);
    const isUnused = spent.inputTokens + spent.outputTokens === 0;
    for (;;) {
      try {
        return await (isUnused ? this.ledger.release(key) : this.ledger.settle(key, about, spent));
      } catch (error) {
        if (!isPassing(error)) throw error;
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

/** Returns whether credits and caps would suffice once the reservations of other work have ended. */
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
