import { createAggregator } from '@commonplace/kit/aggregate';
import { createEvent, type DomainEvent } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import { networkOf } from '@commonplace/kit/network';
import type { Store } from '@commonplace/kit/store';
import { counter } from '@commonplace/kit/telemetry';
import { keyFacts } from './events.js';
import type { ApiKeyRecord } from './stores/api-keys.js';
import type { UserRecord } from './stores/users.js';

const MINUTE_MS = 60_000;
/** Maximum number of distinct failures that are counted at a time. */
const MAX_FAILURES = 2_000;
/** Maximum number of pairs of key and network that are remembered within an hour. */
const MAX_USES = 50_000;

const failedSignIns = counter(
  'identity.sign_in.failures',
  '{attempt}',
  'Attempts to sign in that were refused.',
).bind();

/** Where a request came from. */
interface Origin {
  readonly clientIp: string;
  readonly requestId: string;
}

/** Publishes credential events for the audit log, at a rate that clients cannot drive up. */
export interface CredentialAudit {
  /** Counts a refused sign-in. `user` is undefined if no account has the address. */
  signInFailed(user: UserRecord | undefined, reason: string, origin: Origin): void;
  /** Publishes the use of a key, at most once per hour, key and network. */
  keyUsed(key: ApiKeyRecord, user: UserRecord, origin: Origin): void;
  /** Counts a request with a key whose secret was right but which was refused. */
  keyRefused(key: ApiKeyRecord, reason: string, origin: Origin): void;
  /** Publishes the remaining counts, and waits for events being published. */
  close(): Promise<void>;
}

interface CredentialAuditParts {
  readonly store: Store;
  readonly log: Log;
  readonly now: () => number;
}

interface Failure {
  readonly type: string;
  readonly subject: string;
  /** Absent if no person is concerned: such a failure is only logged for the operator. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly tenant?: string;
  readonly network: string | undefined;
  readonly requestId: string;
  readonly reason: string;
}

export function createCredentialAudit({ store, log, now }: CredentialAuditParts): CredentialAudit {
  // Uses within the current hour. Uses beyond the maximum are published again.
  const used = new Set<string>();
  let usedIn = '';
  const publishing = new Set<Promise<void>>();

  async function publish(event: DomainEvent): Promise<void> {
    const work = store.begin();
    work.publish(event);
    try {
      await work.commit();
    } catch (error) {
      log.warn('audit.not_published', { type: event.type, subject: event.subject, error });
    }
  }

  function eventOf({ type, subject, tenant, network, requestId }: Omit<Failure, 'reason' | 'data'>, data: object) {
    const time = new Date(now()).toISOString();
    return createEvent({ service: 'identity', type, subject, data, tenant, network, requestId, time });
  }

  const failures = createAggregator<Failure>({
    windowMs: MINUTE_MS,
    maxKeys: MAX_FAILURES,
    now,
    overflow: ({ type, reason, requestId }) => ({
      key: type,
      occurrence: { type, subject: '', network: undefined, requestId, reason },
    }),
    report: async ({ latest, count }) => {
      const { data, type, reason, network } = latest;
      if (data === undefined) log.warn('identity.refused', { type, reason, network, count });
      else await publish(eventOf(latest, { ...data, reason, count }));
    },
  });

  return {
    signInFailed(user, reason, { clientIp, requestId }) {
      failedSignIns.add();
      const network = networkOf(clientIp);
      const about = { type: 'sign_in.failed', network, requestId, reason };
      const failure =
        user === undefined
          ? { ...about, subject: '' }
          : { ...about, subject: user.id, data: { userId: user.id, userName: user.name } };
      failures.note(`sign_in ${user?.id ?? ''} ${network ?? ''} ${reason}`, failure);
    },

    keyUsed(key, user, { clientIp, requestId }) {
      const network = networkOf(clientIp);
      const hour = new Date(now()).toISOString().slice(0, 'yyyy-mm-ddThh'.length);
      const use = `${key.id} ${network ?? ''}`;
      if (usedIn !== hour || used.size >= MAX_USES) used.clear();
      usedIn = hour;
      if (used.has(use)) return;
      used.add(use);
      const about = { type: 'api_key.used', subject: key.id, tenant: key.tenant, network, requestId };
      const actor = { type: 'api_key', id: key.id, name: key.name, person: user.id };
      const credential = { type: 'api_key', id: key.id };
      const done = publish({ ...eventOf(about, { ...keyFacts(key), hour }), actor, credential });
      publishing.add(done);
      done.finally(() => publishing.delete(done));
    },

    keyRefused(key, reason, { clientIp, requestId }) {
      const network = networkOf(clientIp);
      const about = { type: 'api_key.refused', subject: key.id, tenant: key.tenant, network, requestId, reason };
      failures.note(`key ${key.id} ${network ?? ''} ${reason}`, { ...about, data: keyFacts(key) });
    },

    async close() {
      await failures.close();
      await Promise.all(publishing);
    },
  };
}
