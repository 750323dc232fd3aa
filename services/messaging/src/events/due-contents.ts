import { createWakeSignal } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import type { Store } from '@commonplace/kit/store';
import { contentThrottleCollection } from './records.js';

interface Parts {
  readonly log: Log;
  readonly store: Pick<Store, 'onCommit'>;
  now(): number;
  /**
   * Appends the events that are due. Returns when the next one is due, in epoch milliseconds; undefined if none is
   * pending.
   */
  appendDue(): Promise<number | undefined>;
}

/** Milliseconds between two polls for events that another process left pending. */
const LOOK_MS = 10_000;
const RETRY_MS = 1_000;

/** Appends pending events about contents when they are due. Several processes may do so at the same time. */
export class DueContents {
  private readonly wakeSignal = createWakeSignal();
  private unwatch: () => void = () => {};
  private running: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(private readonly parts: Parts) {}

  begin(): void {
    this.unwatch = this.parts.store.onCommit(contentThrottleCollection.name, () => this.wakeSignal.wake());
    this.running = this.run();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.unwatch();
    this.wakeSignal.close();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.closed) {
      try {
        const next = await this.parts.appendDue();
        const pause = next === undefined ? LOOK_MS : Math.min(next - this.parts.now() + 1, LOOK_MS);
        if (pause > 0) await this.wakeSignal.wait(pause);
      } catch (error) {
        this.parts.log.warn('events.due_contents_failed', { error });
        await this.wakeSignal.sleep(RETRY_MS);
      }
    }
  }
}
