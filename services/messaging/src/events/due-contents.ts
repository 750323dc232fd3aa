import { createWakeSignal } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import type { Store } from '@commonplace/kit/store';
import { toldContentCollection } from './records.js';

interface Parts {
  readonly log: Log;
  readonly store: Pick<Store, 'onCommit'>;
  now(): number;
  /** Appends what is due. Returns when the next is; undefined if none waits. */
  appendDue(): Promise<number | undefined>;
}

/** Milliseconds after which a process looks at what others may have left. */
const LOOK_MS = 10_000;
const RETRY_MS = 1_000;

/** Has changes of contents told when their turn comes. Several processes may do so at once. */
export class DueContents {
  private readonly bell = createWakeSignal();
  private unwatch: () => void = () => {};
  private running: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(private readonly parts: Parts) {}

  begin(): void {
    this.unwatch = this.parts.store.onCommit(toldContentCollection.name, () => this.bell.wake());
    this.running = this.run();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.unwatch();
    this.bell.close();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.closed) {
      try {
        const next = await this.parts.appendDue();
        const pause = next === undefined ? LOOK_MS : Math.min(next - this.parts.now() + 1, LOOK_MS);
        if (pause > 0) await this.bell.wait(pause);
      } catch (error) {
        this.parts.log.warn('events.due_contents_failed', { error });
        await this.bell.sleep(RETRY_MS);
      }
    }
  }
}
