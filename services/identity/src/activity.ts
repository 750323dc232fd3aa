import type { Caller } from '@commonplace/kit/auth';
import { type Collection, inWork, type Store } from '@commonplace/kit/store';
import type { Background } from './background.js';
import { type ActivityRecord, activityIdOf } from './stores/activity.js';

/** Knows when people were last active. */
export interface Activity {
  /** Notes a request of a caller, in the background. Requests in a Personal tenant concern no Org. */
  note(caller: Pick<Caller, 'userId' | 'tenant'>): void;
  /**
   * Returns when people last sent a request in an Org, or one that selects no tenant, by their ids. The times are up to
   * five minutes old; people who were not active for 400 days are left out.
   */
  in(orgId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Milliseconds in which the requests of a person are noted once, because each note is a write. */
const INTERVAL_MS = 5 * 60_000;
const KEPT_MS = 400 * 24 * 3_600_000;

interface ActivityParts {
  readonly store: Store;
  readonly records: Collection<ActivityRecord>;
  readonly background: Background;
  readonly now: () => number;
}

export function createActivity({ store, records, background, now }: ActivityParts): Activity {
  // When each record was last written: in the current interval, which began at `since`, and in the one before.
  let since = now();
  let latest = new Map<string, number>();
  let former = latest;

  /** Returns whether an interval has passed since the last note, so that the people are not all due at once. */
  function isDue(id: string): boolean {
    const at = now();
    if (at - since >= INTERVAL_MS) {
      former = latest;
      latest = new Map();
      since = at;
    }
    const noted = latest.get(id) ?? former.get(id);
    if (noted !== undefined && at - noted < INTERVAL_MS) return false;
    latest.set(id, at);
    return true;
  }

  async function write(id: string): Promise<void> {
    const at = now();
    const fresh = { lastActiveAt: new Date(at).toISOString(), expiresAt: new Date(at + KEPT_MS).toISOString() };
    await inWork(store, async (work) => {
      const before = await records.get(id);
      if (before === undefined) work.insert(records, { id, ...fresh });
      else if (before.lastActiveAt < fresh.lastActiveAt) work.replace(records, before, { ...before, ...fresh });
    });
  }

  return {
    note({ userId, tenant }) {
      if (userId === '' || tenant?.orgId === null) return;
      const id = activityIdOf(userId, tenant?.orgId);
      if (isDue(id)) background.run(`activity:${id}`, () => write(id));
    },
    async in(orgId, userIds) {
      const ids = userIds.flatMap((userId) => [activityIdOf(userId), activityIdOf(userId, orgId)]);
      const found = new Map((await records.getMany(ids)).map(({ id, lastActiveAt }) => [id, lastActiveAt]));
      const times = userIds.flatMap((userId): [string, string][] => {
        const known = [found.get(activityIdOf(userId)), found.get(activityIdOf(userId, orgId))];
        const latest = known
          .filter((at) => at !== undefined)
          .sort()
          .at(-1);
        return latest === undefined ? [] : [[userId, latest]];
      });
      return new Map(times);
    },
  };
}
