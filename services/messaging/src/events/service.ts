import type { EventBus } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import type { CallOptions, Client, Handlers } from '@commonplace/kit/rpc';
import type { Collection, Store, StoredRecord } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import { SOURCES } from '@commonplace/platform/public-events';
import type { StartedModule } from '@commonplace/platform/runtime';
import type { EventStreamService } from '@commonplace/proto/messaging/v1/event_stream_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { ConversationReaders } from './conversation-readers.js';
import { DueContents } from './due-contents.js';
import { listEvents } from './list.js';
import { EventLog } from './log.js';
import { MemberChanges } from './member-changes.js';
import { ReaderChecks } from './reader-checks.js';
import {
  contentThrottleCollection,
  logHeadCollection,
  readTenantCollection,
  streamEventCollection,
} from './records.js';
import { Tail } from './tail.js';
import { type WatchParts, watchEvents } from './watch.js';

/** Dependencies of event streams. */
interface EventParts {
  readonly settings: { readonly eventKeepSeconds: number; readonly eventStreamBuffer: number };
  readonly log: Log;
  readonly store: Store;
  readonly bus: EventBus;
  readonly memberships: MembershipCache;
  readonly directory: Client<DirectoryService>;
  readonly index: Client<IndexService>;
  readonly conversations: ConversationReaders;
  systemCall(): CallOptions;
  now(): number;
}

interface EventStreams extends Required<Pick<StartedModule, 'runs' | 'consume'>> {
  readonly handlers: Handlers<EventStreamService>;
  /** The collections whose records name a tenant, for purges. */
  readonly records: readonly Collection<StoredRecord>[];
}

/** Maximum number of events that one unit of work appends. */
const BATCH = 100;

/** Opens the log of events and its streams. */
export async function openEventStreams(given: EventParts): Promise<EventStreams> {
  const { store, bus, log, settings, now } = given;
  const streamEvents = await store.collection(streamEventCollection);
  const readTenants = await store.collection(readTenantCollection);
  const contentThrottles = await store.collection(contentThrottleCollection);
  const logHeads = await store.collection(logHeadCollection);
  const eventLog = new EventLog({ settings, store, bus, now, streamEvents, readTenants, contentThrottles, logHeads });
  const tail = new Tail({ log, bus, streamEvents, eventLog });
  const memberChanges = new MemberChanges();
  const checks = new ReaderChecks(given);
  const parts: WatchParts = { ...given, streamEvents, eventLog, tail, memberChanges, checks };
  const due = new DueContents({ log, store, now, appendDue: () => eventLog.appendDue() });
  return {
    records: [streamEvents, readTenants, contentThrottles] as unknown as readonly Collection<StoredRecord>[],
    handlers: {
      listEvents: (request, context) => listEvents(parts, request, context),
      watchEvents: (request, context) => watchEvents(parts, request, context),
    },
    runs: [tail, due],
    consume: () => [
      bus.subscribe(
        {
          ...{ consumer: 'messaging.events', types: Object.keys(SOURCES), batch: BATCH },
          // Events from before the first start have no readers.
          from: 'now',
        },
        (events) => eventLog.append(events),
      ),
      memberChanges.watch(bus),
    ],
  };
}
