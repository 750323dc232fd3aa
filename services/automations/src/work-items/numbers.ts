import { setTimeout as sleep } from 'node:timers/promises';
import { LimitReached, Unavailable } from '@commonplace/kit/errors';
import { inWork, LostRace, type Store } from '@commonplace/kit/store';
import type { WorkItemRecords } from './parts.js';

interface NumberPlace {
  readonly tenant: string;
  readonly workspaceId: string;
}

interface Taker {
  give(number: number): void;
  refuse(error: unknown): void;
}

/** The greatest number that the contract can represent. */
const MAX_NUMBER = 2 ** 31 - 1;
/** Maximum rounds of attempts; each round is a dozen attempts, which other processes may win. */
const MAX_ROUNDS = 20;
const MAX_PAUSE_MS = 50;

/**
 * Allocates the numbers of work items. Each is used once in its workspace, and later requests get greater numbers,
 * across processes. Concurrent requests of this process for one workspace share a commit. A number is lost if its
 * request fails.
 */
export class NumberSource {
  private readonly waiting = new Map<string, Taker[]>();

  constructor(
    private readonly store: Store,
    private readonly records: Pick<WorkItemRecords, 'lastNumbers'>,
  ) {}

  next(place: NumberPlace): Promise<number> {
    return new Promise((give, refuse) => {
      const taker = { give, refuse };
      const before = this.waiting.get(place.workspaceId);
      if (before !== undefined) {
        before.push(taker);
        return;
      }
      this.waiting.set(place.workspaceId, [taker]);
      void this.serve(place);
    });
  }

  /** Serves the waiting requests, including those that arrive in the meantime. */
  private async serve(place: NumberPlace): Promise<void> {
    for (;;) {
      const takers = this.waiting.get(place.workspaceId) ?? [];
      if (takers.length === 0) {
        this.waiting.delete(place.workspaceId);
        return;
      }
      this.waiting.set(place.workspaceId, []);
      try {
        const first = await this.take(place, takers.length);
        for (const [at, taker] of takers.entries()) taker.give(first + at);
      } catch (error) {
        for (const taker of takers) taker.refuse(error);
      }
    }
  }

  /** Allocates `amount` numbers and returns the first. */
  private async take(place: NumberPlace, amount: number): Promise<number> {
    for (let round = 1; ; round++) {
      try {
        return await this.takeOnce(place, amount);
      } catch (error) {
        if (!(error instanceof LostRace)) throw error;
        if (round === MAX_ROUNDS) throw Unavailable({}, { retryAfter: 1, cause: error });
        await sleep(Math.random() * MAX_PAUSE_MS);
      }
    }
  }

  private takeOnce({ tenant, workspaceId }: NumberPlace, amount: number): Promise<number> {
    const { lastNumbers } = this.records;
    return inWork(this.store, async (work) => {
      const before = await work.get(lastNumbers, workspaceId);
      const last = (before?.last ?? 0) + amount;
      if (last > MAX_NUMBER)
        throw LimitReached({ limit: MAX_NUMBER, what: 'work items ever created in one workspace' });
      const record = { id: workspaceId, tenant, workspaceId, last };
      if (before === undefined) work.insert(lastNumbers, record);
      else work.replace(lastNumbers, before, record);
      return last - amount + 1;
    });
  }
}
