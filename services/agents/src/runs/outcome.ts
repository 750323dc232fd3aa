import type { RunRecord } from '../stores/runs.js';
import type { MessageRecord } from '../stores/sessions.js';

export type Ending = 'completed' | 'failed' | 'canceled' | 'expired';

/** What a run leaves when it ends. */
export interface Outcome extends Pick<RunRecord, 'output' | 'error' | 'droppedMessages'> {
  readonly status: Ending;
  /**
   * What a completed run says in the conversation that it was asked for, if somebody had to decide about it; absent for
   * what is in `output`.
   */
  readonly answer?: { readonly text: string } | 'withheld' | undefined;
  /** What the reply's message is then. */
  readonly message: Partial<
    Pick<MessageRecord, 'content' | 'citations' | 'sourceIds' | 'isPrivate' | 'degraded' | 'droppedMessages'>
  >;
}
