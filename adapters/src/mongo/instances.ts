import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '@commonplace/kit/log';
import type { Db, ServerSessionId } from 'mongodb';
import { createSilence } from './silence.js';

/** An instance of a service: the sessions of its transactions, and a counter that it increments while it is alive. */
interface Instance {
  _id: string;
  sessions: ServerSessionId[];
  beat: number;
}

/** Milliseconds between heartbeats, at each of which it also checks the others. */
const BEAT_MS = 1000;

/** The instances of one service, each of which announces its sessions to the others. */
interface Instances {
  /** Announces the sessions of this instance; resolves when the others can read them. */
  announce(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Joins the instances of a service. MongoDB keeps the open transaction of a killed process for a minute, during which
 * other processes cannot write its records. So each instance stores which sessions it uses, and the others end those
 * of an instance whose heartbeat stops. An instance that was only paused finds its transaction aborted and repeats it.
 */
export function joinInstances(db: Db, sessions: () => ServerSessionId[], log: Log): Instances {
  const instances = db.collection<Instance>('instances');
  const _id = randomUUID();
  const silence = createSilence();
  const closing = new AbortController();
  const database = db.databaseName;
  let announced: Promise<unknown> = Promise.resolve();

  /** Updates run one after another, so that none overwrites a later one. */
  const announce = (): Promise<void> => {
    const announcing = announced.then(async () => {
      await instances.updateOne({ _id }, { $set: { sessions: sessions() }, $inc: { beat: 1 } }, { upsert: true });
    });
    announced = announcing.catch(() => {});
    return announcing;
  };
  const endSilent = async (): Promise<void> => {
    for (const { _id: other, sessions: left, beat } of await instances.find({ _id: { $ne: _id } }).toArray()) {
      if (!silence.isSilent(other, String(beat))) continue;
      if (left.length > 0) await db.command({ killSessions: left });
      const { deletedCount } = await instances.deleteOne({ _id: other, beat });
      silence.forget(other);
      if (deletedCount > 0) log.info('mongodb.instance_gone', { database, sessions: left.length });
    }
  };
  const beating = (async () => {
    for (let failing = false; !closing.signal.aborted; ) {
      try {
        // Only an instance that writes can meet the open transaction of another one.
        if (sessions().length > 0) await announce().then(endSilent);
        failing = false;
      } catch (error) {
        if (!failing) log.warn('mongodb.instances_unknown', { database, error });
        failing = true;
      }
      await sleep(BEAT_MS, undefined, { ref: false, signal: closing.signal }).catch(() => {});
    }
  })();
  return {
    announce,
    close: async () => {
      closing.abort();
      await beating;
      // If this fails, the others notice that the heartbeat has stopped.
      await instances.deleteOne({ _id }).catch(() => {});
    },
  };
}
