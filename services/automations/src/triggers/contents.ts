import type { DomainEvent } from '@commonplace/kit/events';
import { openQueue, type Queue } from '@commonplace/kit/jobs';
import { type Collection, inWork } from '@commonplace/kit/store';
import type { Shared } from '../parts.js';
import {
  CONTENT_GAP_MS,
  CONTENT_KEEP_MS,
  type ContentTurnRecord,
  contentTurnCollection,
  contentTurnQueue,
} from './records.js';
import { type TriggerEvent, triggerEventOf } from './trigger-event.js';

interface TurnParts extends Pick<Shared, 'store' | 'log' | 'now'> {
  /** Starts the runs for events, once for each automation and event, however often it is called. */
  start(events: readonly TriggerEvent[]): Promise<void>;
}

/** Number of resources whose changes this process handles concurrently. */
const CONCURRENCY = 4;

/**
 * Opens the queue that starts automations after changes of contents, throttled to one start per resource in ten
 * seconds.
 */
export async function openContentTurns(parts: TurnParts): Promise<Queue<ContentTurnRecord>> {
  const { store, log, now } = parts;
  const turns = await store.collection(contentTurnCollection);
  return openQueue<ContentTurnRecord>({
    ...{ store, log, now, spec: contentTurnQueue, concurrency: CONCURRENCY },
    async run(job) {
      const pending = job.record.waiting;
      if (pending === undefined) {
        // A change may have arrived since the record was read.
        return job.endIn((work, record) => {
          const rest = { ...record, dueAt: timestamp(record.waiting === undefined ? undefined : now()) };
          const expiresAt = record.waiting === undefined ? timestamp(now() + CONTENT_KEEP_MS) : undefined;
          work.replace(turns, record, { ...rest, expiresAt });
        });
      }
      const event = triggerEventOf(pending);
      if (event !== undefined) await parts.start([event]);
      await job.retryIn(CONTENT_GAP_MS, ({ waiting }) => (waiting?.id === pending.id ? { waiting: undefined } : {}));
    },
  });
}

const timestamp = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString();

/**
 * Queues a content change of a resource. It is handled now if there was none in the last ten seconds, otherwise at the
 * end of that interval.
 */
export function awaitTurn(
  { store, now }: Pick<TurnParts, 'store' | 'now'>,
  turns: Collection<ContentTurnRecord>,
  { source, workspaceId, tenant, data }: TriggerEvent,
): Promise<void> {
  const id = String(data.resource_id);
  const last = { lastId: source.id, lastVersion: Number(data.version ?? 0) };
  return inWork(store, async (work) => {
    const found = await work.get(turns, id);
    if (found === undefined) {
      work.insert(turns, { id, tenant, workspaceId, ...last, waiting: source, dueAt: timestamp(now()) });
      return;
    }
    if (found.lastId === last.lastId || last.lastVersion < found.lastVersion) return;
    const waiting = found.waiting === undefined ? source : merge(found.waiting, source);
    const dueAt = found.dueAt ?? timestamp(now());
    work.replace(turns, found, { ...found, tenant, workspaceId, ...last, waiting, dueAt, expiresAt: undefined });
  });
}

/**
 * Returns the later event with the changed fields of both. It takes actor and chain from the event with the shorter
 * chain, so that a person's change is not dropped as a loop because an automation changed the same content right after.
 */
function merge(earlier: DomainEvent, later: DomainEvent): DomainEvent {
  const fields = [earlier, later].flatMap(({ data }) => (Array.isArray(data.changedFields) ? data.changedFields : []));
  const data = { ...later.data, changedFields: [...new Set(fields)] };
  const cause = (earlier.chain ?? []).length < (later.chain ?? []).length ? earlier : later;
  const { actor, credential, chain = [] } = cause;
  return { ...later, data, chain, ...(actor && { actor }), ...(credential && { credential }) };
}
