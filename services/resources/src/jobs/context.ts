import { newRequestId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import { eventsBy } from '../events.js';
import type { Parts } from '../parts.js';
import type { TreeJob } from '../stores/jobs.js';

/** The context of a piece of a job's work: labelled as its actor's, with nobody behind it. The job commits it. */
export function jobContext(parts: Pick<Parts, 'systemCall'>, job: TreeJob, work: UnitOfWork): CallContext {
  const requestId = newRequestId();
  const onward = parts.systemCall();
  const { event } = eventsBy(job.actor, job.tenant, work);
  return {
    get caller(): never {
      throw new Error(`nobody is behind the job ${job.id}`);
    },
    actor: job.actor,
    metadata: { requestId },
    requestId,
    deadline: onward.deadline,
    signal: onward.signal ?? new AbortController().signal,
    work,
    reply: {},
    onward,
    acts() {},
    once() {},
    event,
    afterCommit() {
      throw new Error('a job has no effects of its own');
    },
  };
}
