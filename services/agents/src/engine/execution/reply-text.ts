import { logEvents, type NewRunEvent } from '../../runs/log.js';
import type { RunRecord } from '../../stores/runs.js';
import { LiveText } from '../live-text.js';
import type { RunScope } from './scope.js';

/** The text that a run writes, over all workers and calls of the model: streamed while it is written, and saved. */
export class ReplyText {
  private live: LiveText;

  constructor(
    private readonly scope: Pick<RunScope, 'parts' | 'job' | 'log' | 'reply' | 'sources'>,
    /** A text that begins anew has a higher number. */
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

  /** No more comes of this call of the model. Waits until what is being saved is. */
  async endText(): Promise<void> {
    this.live.endText();
    await this.live.settle();
  }

  close(): Promise<void> {
    return this.live.close();
  }

  /** Takes up the text as the completed calls of the model have left it. */
  restore(): void {
    this.live = this.begin(this.scope.log.text);
  }

  /** Fields of the run with which another worker goes on with the text. */
  get state(): Pick<RunRecord, 'textNumber' | 'draft'> {
    const isInSession = this.scope.job.record.sessionId !== undefined;
    return { textNumber: this.number, draft: isInSession ? undefined : this.text };
  }

  /** Begins the text anew behind what earlier turns have left, and tells its readers so. */
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
    // Whoever ends a run that was cut off leaves its message as it was saved last.
    const save = (text: string) =>
      job.save(sessionId === undefined ? { draft: text } : {}, async (work) => {
        const message = sessionId === undefined ? undefined : await work.get(parts.messages, messageId);
        const given = { citations: reply.citations(text), ...sources.ofMessage };
        if (message !== undefined) work.replace(parts.messages, message, { ...message, content: text, ...given });
      });
    return new LiveText(parts.bus, { id, attempt: this.number }, save, written);
  }
}
