import { MongoClient } from 'mongodb';

/** What an operator asks of MongoDB servers. */
export interface MongoFacts {
  readonly version: string;
  /** Absent for a server that is no member of a replica set, on which units of work can't be. */
  readonly replicaSet: string | undefined;
  /** The server's clock, and how long the answer took, in milliseconds. */
  readonly clock: { readonly at: number; readonly tookMs: number } | undefined;
  readonly outboxes: readonly OutboxFacts[];
}

export interface OutboxFacts {
  readonly service: string;
  /** Entries that wait to be published, counted up to 10,000. */
  readonly pending: number;
  /** The time of the event that has waited for the longest, RFC 3339. */
  readonly oldest: string | undefined;
}

export interface InspectOptions {
  readonly url: string;
  readonly services: readonly string[];
  readonly timeoutMs: number;
  /** As in `MongoOptions`. */
  readonly databasePrefix?: string;
}

const MOST = 10_000;

/** Looks at MongoDB without changing anything. Rejects with the driver's error: it is for operators. */
export async function inspectMongo(options: InspectOptions): Promise<MongoFacts> {
  const { url, services, timeoutMs, databasePrefix = 'commonplace_' } = options;
  const client = new MongoClient(url, {
    appName: 'commonplace doctor',
    readConcern: { level: 'majority' },
    serverSelectionTimeoutMS: timeoutMs,
    connectTimeoutMS: timeoutMs,
    socketTimeoutMS: timeoutMs,
  });
  try {
    await client.connect();
    const admin = client.db('admin');
    const { version } = await admin.command({ buildInfo: 1 });
    const asked = performance.now();
    const { setName, localTime } = await admin.command({ hello: 1 });
    const tookMs = performance.now() - asked;
    const outboxes = await Promise.all(
      services.map((service) => inspectOutbox(client, `${databasePrefix}${service}`, service)),
    );
    return {
      version: String(version),
      replicaSet: setName,
      clock: localTime instanceof Date ? { at: localTime.getTime(), tookMs } : undefined,
      outboxes,
    };
  } finally {
    await client.close(true).catch(() => {});
  }
}

async function inspectOutbox(client: MongoClient, database: string, service: string): Promise<OutboxFacts> {
  const outbox = client.db(database).collection('outbox');
  const pending = await outbox.countDocuments({ pending: true }, { limit: MOST });
  const first = await outbox.find({ pending: true }).sort({ at: 1, n: 1 }).limit(1).next();
  const oldest = first === null ? undefined : (JSON.parse(String(first.event)) as { time: string }).time;
  return { service, pending, oldest };
}
