import { AppError } from '@commonplace/kit/errors';
import { fingerprint } from '@commonplace/kit/id';
import { type CallOptions, callOnce } from '@commonplace/kit/rpc';
import type { Arguments, ToolContext, ToolResult } from './tool.js';

/**
 * Makes a call that changes something. It takes effect once, even if it is repeated after a crash, since the service
 * stores its answer under the id of the tool call in the commit of the change. `scope` is the scope that the run needs.
 */
export async function actOnce<T>(
  context: ToolContext,
  scope: string,
  args: Arguments,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  if (context.toolCallId === '') throw new Error('a tool call that is only planned must not change data');
  return callOnce({
    idempotency: {
      id: fingerprint('tool call', context.run.id, context.toolCallId),
      fingerprint: fingerprint(JSON.stringify(args)),
    },
    options: () => context.acting(undefined, { scope }),
    send: call,
    signal: context.signal,
  });
}

/** Returns the result of a call. A conflict that a retry cannot resolve becomes an error result for the model. */
export async function reportConflicts(call: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await call();
  } catch (error) {
    const isConflict = error instanceof AppError && error.code === 'ABORTED' && !PASSING.has(error.reason);
    if (!isConflict) throw error;
    return { text: error.message, found: [], isError: true };
  }
}

/** Conflicts that a retry can resolve. */
const PASSING: ReadonlySet<string> = new Set(['idempotency_in_progress', 'version_conflict']);
