import type { RunRecord } from '../stores/runs.js';
import type { MessageRecord } from '../stores/sessions.js';

export type Ending = 'completed' | 'failed' | 'canceled' | 'expired';

/** The reasons for which runs are canceled without a request. */
export type CancelReason = 'agent_deleted' | 'org_deleted';

/** The result of a run. */
export interface Outcome extends Pick<RunRecord, 'output' | 'error' | 'droppedMessages'> {
  readonly status: Ending;
  /** Why the run was canceled, if it ends so without a request. */
  readonly cancelReason?: CancelReason | undefined;
  /**
   * The approved answer of a completed run for its conversation, or `withheld` if it was not approved; if absent, the
   * answer is that of `output`.
   */
  readonly answer?: { readonly text: string } | 'withheld' | undefined;
  /** The fields of the reply's message. */
  readonly message: Partial<
    Pick<MessageRecord, 'content' | 'citations' | 'sourceIds' | 'isPrivate' | 'degraded' | 'droppedMessages'>
  >;
}
