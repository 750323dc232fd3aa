import type { Log } from '@commonplace/kit/log';
import type { ClientSession, Db, MongoClient, ServerSessionId } from 'mongodb';
import { joinInstances } from './instances.js';

/** Pool of the sessions in which the transactions of one service run. */
export interface Sessions {
  /**
   * Returns an unused session for one transaction, to be released with `give` or `drop`. Rejects with errors of the
   * driver.
   */
  take(): Promise<ClientSession>;
  give(session: ClientSession): void;
  /** Discards a session. Use it in place of `give` if the state of the session on the server is unknown. */
  drop(session: ClientSession): void;
  close(): Promise<void>;
}

/** Creates a pool that reuses few sessions, so that the other instances know each of them. */
export function createSessions(client: MongoClient, db: Db, log: Log): Sessions {
  const idle: ClientSession[] = [];
  const open = new Set<ClientSession>();
  const ids = (): ServerSessionId[] => [...open].flatMap(({ id }) => id ?? []);
  const instances = joinInstances(db, ids, log);
  const drop = (session: ClientSession): void => {
    open.delete(session);
    void session.endSession().catch(() => {});
  };
  return {
    take: async () => {
      const free = idle.pop();
      if (free !== undefined) return free;
      const session = client.startSession();
      open.add(session);
      try {
        // The other instances must know the session before it holds any lock.
        await instances.announce();
        return session;
      } catch (error) {
        drop(session);
        throw error;
      }
    },
    give: (session) => {
      idle.push(session);
    },
    drop,
    close: async () => {
      await instances.close();
      await Promise.allSettled([...open].map((session) => session.endSession()));
    },
  };
}
