import { openQueue, type Queue } from '@commonplace/kit/jobs';
import type { CallContext } from '@commonplace/kit/rpc';
import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import { eraseRun } from '../runs/erase.js';
import { type RemovalRecord, removalQueue } from '../stores/removals.js';
import type { SessionRecord } from '../stores/sessions.js';

/**
 * Announces the deletion of a session and enqueues the erasure of its messages and runs, in the unit of work that
 * deletes it.
 */
export function beginRemoval(
  { removals }: Pick<Parts, 'removals'>,
  { id, tenant, workspaceId = '' }: Pick<SessionRecord, 'id' | 'tenant' | 'workspaceId'>,
  context: Pick<CallContext, 'work' | 'event'>,
): void {
  const { work } = context;
  work.insert(removals, { id, tenant, dueAt: new Date().toISOString() });
  work.publish(context.event('chat_session.deleted', id, { sessionId: id, workspaceId }, tenant));
}

const CHUNK = 200;
/** Milliseconds between two checks of a run that is being canceled. */
const LATER_MS = 2_000;

/** Opens the queue that erases what deleted sessions leave: messages, and the texts of their runs. Usage is kept. */
export function openRemovalQueue(parts: Omit<Parts, 'removals' | 'agentRemovals'>): Promise<Queue<RemovalRecord>> {
  const { store, log } = parts;
  return openQueue<RemovalRecord>({
    ...{ store, log, spec: removalQueue, concurrency: 2 },
    async run(job) {
      const sessionId = job.record.id;
      for (;;) {
        const runs = await parts.runs.find({ where: { sessionId }, anyOrder: true, limit: CHUNK });
        for (const run of runs)
          if (!(await eraseRun(parts, run, { forgetSession: true }))) return job.retryIn(LATER_MS);
        if (runs.length < CHUNK) break;
      }
      for (;;) {
        const messages = await parts.messages.find({ where: { sessionId }, anyOrder: true, limit: CHUNK });
        await inWork(store, async (work: UnitOfWork) => {
          for (const message of messages) work.remove(parts.messages, message);
        });
        if (messages.length < CHUNK) break;
      }
      await job.remove();
    },
  });
}
