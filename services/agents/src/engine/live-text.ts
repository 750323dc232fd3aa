import type { EventBus } from '@commonplace/kit/events';
import { runTopic, writeSignal } from '../runs/topic.js';

/** Milliseconds between two saves of a text while it is written. */
const SAVE_MS = 1_000;

/** The text of a reply while it is written. Each piece is broadcast at once, and the text so far is saved regularly. */
export class LiveText {
  private saved = 0;
  private savedAt = Date.now();
  private saving: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  /** The first half of a surrogate pair, whose second half comes with the next piece. */
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

  /** Adds a piece. It may end within a surrogate pair, since providers cut between tokens. */
  write(piece: string): void {
    const joined = this.half + piece;
    this.half = /[\ud800-\udbff]$/.exec(joined)?.[0] ?? '';
    const text = wellFormed(joined.slice(0, joined.length - this.half.length));
    if (text !== '') this.add(text);
  }

  /** Ends the text. An incomplete surrogate pair is replaced. */
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

  /** Waits for the current save. Rejects if the last save has failed. */
  async settle(): Promise<void> {
    await this.saving;
  }

  /** Stops saving, and waits like `settle`. */
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
    // The failure is reported by `settle`; without this handler it would end the process as an unhandled rejection.
    this.saving.catch(() => {});
  }
}

/** Replaces unpaired surrogates, which cannot be encoded in UTF-8. */
const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');
