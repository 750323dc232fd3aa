import type { ClientSession, Db, MongoClient, ServerSessionId } from 'mongodb';
import type { Log } from '../../log/index.js';
import { joinInstances } from './instances.js';

/** The sessions that the transactions of one service run in. */
export interface Sessions {
  /** One that nobody uses, for one transaction; to be given back or dropped. Rejects with errors of the driver. */
  take(): Promise<ClientSession>;
  give(session: ClientSession): void;
  /** Instead of `give`, where it is not known what the server holds in it. */
  drop(session: ClientSession): void;
  close(): Promise<void>;
}

/** Few sessions that are used again and again, so that the other instances know each of them. */
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
        // They know it before it holds anything.
        await instances.tell();
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
