import type { CallContext } from '@commonplace/kit/rpc';

/** Adds a warning if an answer was written without the oldest messages of its conversation. */
export function warnOfDropped(droppedMessages: number | undefined, { reply }: Pick<CallContext, 'reply'>): void {
  if (droppedMessages === undefined || droppedMessages === 0) return;
  const message = 'The conversation did not fit into the window of the model: its oldest messages were left out.';
  const warning = { code: 'context_truncated', message, details: { dropped_messages: droppedMessages } };
  reply.warnings = [...(reply.warnings ?? []), warning];
}
