import type { EventBus } from '@commonplace/kit/events';
import { runTopic, writeSignal } from '../runs/topic.js';

/** Milliseconds between two saves of a text that is being written. */
const SAVE_MS = 1_000;

/** The text of a reply while it is being written: each piece is broadcast at once, and what there is is saved regularly. */
export class LiveText {
  private saved = 0;
  private savedAt = Date.now();
  private saving: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  /** The first half of a character, whose second half comes with the next piece. */
  private half = '';

  constructor(
    private readonly bus: Pick<EventBus, 'broadcast'>,
    private readonly run: { readonly id: string; readonly attempt: number },
    /** Stores the text so far. */
    private readonly save: (text: string) => Promise<void>,
    private written = '',
  ) {
    this.saved = written.length;
  }

  get text(): string {
    return this.written;
  }

  /** Adds a piece, which may end within a character: providers cut where their tokens end. */
  write(piece: string): void {
    const joined = this.half + piece;
    this.half = /[\ud800-\udbff]$/.exec(joined)?.[0] ?? '';
    const text = wellFormed(joined.slice(0, joined.length - this.half.length));
    if (text !== '') this.add(text);
  }

  /** No more comes: half a character stays none. */
  endText(): void {
    const { half } = this;
    this.half = '';
    if (half !== '') this.add(wellFormed(half));
  }

  private add(text: string): void {
    const { id, attempt } = this.run;
    this.bus.broadcast(runTopic(id), writeSignal({ kind: 'text', attempt, offset: this.written.length, text }));
    this.written += text;
    this.saveSoon();
  }

  /** Waits for a save that is under way. Rejects if the last one has failed. */
  async settle(): Promise<void> {
    await this.saving;
  }

  /** Saves no more, and waits like `settle`. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.saving;
  }

  private saveSoon(): void {
    if (this.closed || this.timer !== undefined || this.saving !== undefined || this.written.length === this.saved)
      return;
    const waitMs = Math.max(this.savedAt + SAVE_MS - Date.now(), 0);
    this.timer = setTimeout(() => this.saveNow(), waitMs);
    this.timer.unref();
  }

  private saveNow(): void {
    const { written } = this;
    this.timer = undefined;
    this.saving = this.save(written).then(() => {
      this.saved = written.length;
      this.savedAt = Date.now();
      this.saving = undefined;
      this.saveSoon();
    });
    // Whoever awaits `settle` sees the failure; until then it must not end the process.
    this.saving.catch(() => {});
  }
}

/** Replaces halves of characters, which cannot be sent. */
const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');
