import { cancelled } from '@commonplace/kit/deadline';
import { AppError, defineError } from '@commonplace/kit/errors';
import type { BatchCall, BatchResponse } from '@commonplace/proto/gateway/v1/batch_service.js';
import { endOfTurn } from '../end-of-turn.js';

export interface CallAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** Undefined if it has more bytes than it may have. */
  readonly body: Buffer | undefined;
}

/** Makes a call, or has it answered with `refusal`. Reads at most `maxBytes` of its answer. */
export type MakeCall = (call: BatchCall, refusal: AppError | undefined, maxBytes: number) => Promise<CallAnswer>;

interface RunOptions {
  readonly make: MakeCall;
  /** End of the time of the batch in milliseconds since 1970; calls that did not begin by then are refused. */
  readonly deadline: number;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
  /** Maximum bytes of one answer, and of all. */
  readonly answerBytes: number;
  readonly answersBytes: number;
}

/** Bytes up to which answers do not count, so that errors and small records are always in the answer of the batch. */
const SMALL_BYTES = 4096;

const FailedDependency = defineError(
  'ABORTED',
  'failed_dependency',
  'The call was not made, because {id}, on which it depends, has failed.',
);

function notBegun(): AppError {
  const message = 'The time of the batch was over before this call began. It has had no effect; send it again.';
  return new AppError('DEADLINE_EXCEEDED', 'timeout', message, { details: { begun: false } });
}

/**
 * Makes calls one after another and returns their answers. A batch is like a client that waits for each answer, so that
 * it gets no more of the process than one, and other requests are served between its calls. Rejects when the client has
 * left.
 */
export async function runCalls(calls: readonly BatchCall[], options: RunOptions): Promise<BatchResponse[]> {
  const { make, deadline, signal, answerBytes } = options;
  const answers: BatchResponse[] = [];
  const failed = new Set<string>();
  let left = options.answersBytes;
  for (const call of calls) {
    if (signal.aborted) throw cancelled();
    const missing = call.dependsOn.find((id) => failed.has(id));
    const late = Date.now() >= deadline ? notBegun() : undefined;
    const refusal = missing === undefined ? late : FailedDependency({ id: missing });
    const { status, headers, body } = await make(call, refusal, Math.max(Math.min(answerBytes, left), SMALL_BYTES));
    if (status >= 400) failed.add(call.id);
    if (body !== undefined && body.length > SMALL_BYTES) left -= body.length;
    const omitted = answerBytes <= left ? 'answer_limit' : 'batch_limit';
    answers.push({
      id: call.id,
      status,
      headers,
      body: body ?? NOTHING,
      bodyOmitted: body === undefined ? omitted : undefined,
    });
    await endOfTurn();
  }
  return answers;
}

const NOTHING = Buffer.alloc(0);
