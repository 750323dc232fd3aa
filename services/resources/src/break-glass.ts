import type { Caller } from '@commonplace/kit/auth';
import type { DomainEvent } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Store } from '@commonplace/kit/store';
import type { Settings } from './config.js';
import type { Node } from './domain/node.js';

/** Maximum number of pairs of a person and a resource that are remembered within a period. */
const MAX_NOTED = 50_000;
const MINUTE_MS = 60_000;

export type Opened = Pick<Node, 'id' | 'workspaceId' | 'tenant' | 'boundary'>;

/** A person who opens resources, with the call by which they do; without one nothing is published. */
interface Opener {
  readonly caller: Pick<Caller, 'userId'>;
  readonly call: Pick<CallContext, 'event'> | undefined;
}

/**
 * Publishes for the audit log which restricted resources owners and administrators of a workspace open by their role
 * alone. Requests never wait for it.
 */
export interface BreakGlass {
  /** Publishes that a person opens resources, at most once per period, person and resource. */
  note(opened: readonly Opened[], by: Opener): void;
  /** Waits for events being published. */
  close(): Promise<void>;
}

interface BreakGlassParts {
  readonly store: Store;
  readonly log: Log;
  readonly settings: Pick<Settings, 'auditRestrictedMinutes'>;
  readonly now?: () => number;
}

export function createBreakGlass({ store, log, settings, now = Date.now }: BreakGlassParts): BreakGlass {
  const periodMs = settings.auditRestrictedMinutes * MINUTE_MS;
  // Pairs of the current period. Pairs beyond the maximum are published again; the log records them once.
  const noted = new Set<string>();
  let notedIn = '';
  const publishing = new Set<Promise<void>>();

  async function publish(events: ReadonlyMap<string, DomainEvent>): Promise<void> {
    try {
      const work = store.begin();
      for (const event of events.values()) work.publish(event);
      await work.commit();
    } catch (error) {
      for (const [pair, { type, subject }] of events) {
        noted.delete(pair);
        log.warn('audit.not_published', { type, subject, error });
      }
    }
  }

  return {
    note(opened, { caller: { userId }, call }) {
      if (call === undefined) return;
      const period = new Date(Math.floor(now() / periodMs) * periodMs).toISOString();
      if (notedIn !== period) noted.clear();
      notedIn = period;
      const events = new Map<string, DomainEvent>();
      for (const { id, workspaceId, tenant, boundary } of opened) {
        const pair = `${userId} ${id}`;
        if (noted.has(pair)) continue;
        if (noted.size >= MAX_NOTED) noted.clear();
        noted.add(pair);
        const data = { resourceId: id, workspaceId, restrictedBy: boundary, userId, period };
        events.set(pair, call.event('restricted_resource.accessed', id, data, tenant));
      }
      if (events.size === 0) return;
      const done = publish(events);
      publishing.add(done);
      done.finally(() => publishing.delete(done));
    },

    close: async () => void (await Promise.all(publishing)),
  };
}
