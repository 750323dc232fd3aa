import { firstBytes } from '../../domain/utf8.js';
import { logEvents, type NewRunEvent } from '../../runs/log.js';
import type { RunRecord } from '../../stores/runs.js';
import { LiveText } from '../live-text.js';
import type { RunScope } from './scope.js';

type Draft = Pick<RunRecord, 'draft' | 'draftCitations' | 'sourceIds' | 'isPrivate'>;

/** The text that a run writes, across workers and calls of the model. It is streamed and saved while it is written. */
export class ReplyText {
  private live: LiveText;
  private bytes = 0;
  private isFull = false;

  constructor(
    private readonly scope: Pick<RunScope, 'parts' | 'job' | 'log' | 'reply' | 'sources' | 'output'>,
    /** The number of the text's current version; a restart increases it. */
    private number = scope.job.record.textNumber ?? 1,
  ) {
    this.live = this.begin('');
  }

  get text(): string {
    return this.live.text;
  }

  /** The text of the current turn. */
  get turnText(): string {
    return this.text.slice(this.kept.length);
  }

  /** The text before the current turn. A JSON result has none, since each turn replaces the one before. */
  private get kept(): string {
    return this.scope.output === undefined ? this.scope.log.text : '';
  }

  /** Adds a piece, as far as the limit allows. Returns false once the text has reached it. */
  write(text: string): boolean {
    const maxBytes = this.scope.parts.settings.runOutputKb * 1024;
    const piece = this.isFull ? '' : firstBytes(text, maxBytes - this.bytes);
    this.bytes += Buffer.byteLength(piece);
    this.isFull ||= piece.length < text.length;
    if (piece !== '') this.live.write(piece);
    return !this.isFull;
  }

  /** Begins a turn. A JSON result replaces what earlier turns have written. */
  async beginTurn(): Promise<void> {
    if (this.text !== this.kept) await this.restart(this.kept);
  }

  /** Ends the text of this call of the model. Waits until the current save has finished. */
  async endText(): Promise<void> {
    this.live.endText();
    await this.live.settle();
  }

  close(): Promise<void> {
    return this.live.close();
  }

  /** Restores the text as the completed calls of the model have left it. */
  restore(): void {
    this.live = this.begin(this.written);
  }

  /** The text that the completed calls of the model have left. */
  private get written(): string {
    const { log, output } = this.scope;
    return output === undefined ? log.text : (log.lastTurn?.text ?? '');
  }

  /** The fields of the run that another worker needs to continue the text. */
  get state(): Draft & Pick<RunRecord, 'textNumber'> {
    return { textNumber: this.number, ...this.draftOf(this.text) };
  }

  /** Returns the fields of a run without a session for a text, which a session keeps in its message. */
  private draftOf(text: string): Draft {
    const { job, reply, sources } = this.scope;
    if (job.record.sessionId !== undefined) return {};
    return { draft: text, draftCitations: reply.citations(text), ...sources.ofMessage };
  }

  /** Replaces the text, by what completed turns have written if absent, and notifies the readers of the restart. */
  async restart(text = this.written): Promise<void> {
    const { parts, job } = this.scope;
    const { messageId } = job.record;
    await this.live.close().catch(() => {});
    this.number++;
    this.live = this.begin(text);
    const event: NewRunEvent = { type: 'message.restarted', data: { messageId, attempt: this.number } };
    await job.save(
      (run) => ({ eventCount: run.eventCount + 1, ...this.state }),
      async (work, run) => {
        const message = await work.get(parts.messages, messageId);
        if (message !== undefined) work.replace(parts.messages, message, { ...message, content: text });
        logEvents(parts, work, run, [event]);
      },
    );
  }

  private begin(written: string): LiveText {
    const { parts, job, reply, sources } = this.scope;
    const { id, sessionId, messageId } = job.record;
    this.bytes = Buffer.byteLength(written);
    this.isFull = false;
    // If the run is interrupted, its message remains as it was last saved.
    const save = (text: string) =>
      job.save(this.draftOf(text), async (work) => {
        const message = sessionId === undefined ? undefined : await work.get(parts.messages, messageId);
        const given = { citations: reply.citations(text), ...sources.ofMessage };
        if (message !== undefined) work.replace(parts.messages, message, { ...message, content: text, ...given });
      });
    return new LiveText(parts.bus, { id, attempt: this.number }, save, written);
  }
}
