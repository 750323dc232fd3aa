import { logEvents, type NewRunEvent } from '../../runs/log.js';
import type { RunRecord } from '../../stores/runs.js';
import { LiveText } from '../live-text.js';
import type { RunScope } from './scope.js';

/** The text that a run writes, across workers and calls of the model. It is streamed and saved while it is written. */
export class ReplyText {
  private live: LiveText;

  constructor(
    private readonly scope: Pick<RunScope, 'parts' | 'job' | 'log' | 'reply' | 'sources'>,
    /** The number of the text's current version; a restart increases it. */
    private number = scope.job.record.textNumber ?? 1,
  ) {
    this.live = this.begin('');
  }

  get text(): string {
    return this.live.text;
  }

  write(text: string): void {
    this.live.write(text);
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
    this.live = this.begin(this.scope.log.text);
  }

  /** The fields of the run that another worker needs to continue the text. */
  get state(): Pick<RunRecord, 'textNumber' | 'draft'> {
    const isInSession = this.scope.job.record.sessionId !== undefined;
    return { textNumber: this.number, draft: isInSession ? undefined : this.text };
  }

  /** Discards the text of the current turn, and notifies the readers of the restart. */
  async restart(): Promise<void> {
    const { parts, job, log } = this.scope;
    const { messageId } = job.record;
    await this.live.close().catch(() => {});
    this.number++;
    this.live = this.begin(log.text);
    const event: NewRunEvent = { type: 'message.restarted', data: { messageId, attempt: this.number } };
    await job.save(
      (run) => ({ eventCount: run.eventCount + 1, ...this.state }),
      async (work, run) => {
        const message = await work.get(parts.messages, messageId);
        if (message !== undefined) work.replace(parts.messages, message, { ...message, content: log.text });
        logEvents(parts, work, run, [event]);
      },
    );
  }

  private begin(written: string): LiveText {
    const { parts, job, reply, sources } = this.scope;
    const { id, sessionId, messageId } = job.record;
    // If the run is interrupted, its message remains as it was last saved.
    const save = (text: string) =>
      job.save(sessionId === undefined ? { draft: text } : {}, async (work) => {
        const message = sessionId === undefined ? undefined : await work.get(parts.messages, messageId);
        const given = { citations: reply.citations(text), ...sources.ofMessage };
        if (message !== undefined) work.replace(parts.messages, message, { ...message, content: text, ...given });
      });
    return new LiveText(parts.bus, { id, attempt: this.number }, save, written);
  }
}
