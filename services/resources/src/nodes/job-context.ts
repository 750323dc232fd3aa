import { newRequestId } from '@commonplace/kit/id';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import { eventsBy } from '../events.js';
import type { TreeJob } from './jobs.js';

/**
 * Returns the context for a part of a job's work. It has the job's actor but no caller; the job commits its unit of
 * work.
 */
export function jobContext(
  parts: { readonly systemCall: () => CallOptions },
  job: TreeJob,
  work: UnitOfWork,
): CallContext {
  const requestId = newRequestId();
  const onward = parts.systemCall();
  const { event } = eventsBy(job.actor, job.tenant, work);
  return {
    get caller(): never {
      throw new Error(`the job ${job.id} has no caller`);
    },
    actor: job.actor,
    metadata: { requestId },
    requestId,
    callId: job.id,
    deadline: onward.deadline,
    signal: onward.signal ?? new AbortController().signal,
    work,
    reply: {},
    onward,
    acts() {},
    once() {},
    async inTurn() {},
    event,
    afterCommit() {
      throw new Error('a job cannot defer effects');
    },
    answerAfterCommit() {
      throw new Error('a job has no response');
    },
  };
}
