import { MongoClient } from 'mongodb';

/** Facts about MongoDB servers for operators. */
interface MongoFacts {
  readonly version: string;
  /** Name of the replica set; absent for a standalone server, which does not support units of work. */
  readonly replicaSet: string | undefined;
  /** The server's clock and the duration of the request, both in milliseconds. */
  readonly clock: { readonly at: number; readonly tookMs: number } | undefined;
  readonly outboxes: readonly OutboxFacts[];
}

interface OutboxFacts {
  readonly service: string;
  /** Number of unpublished entries, counted up to 10,000. */
  readonly pending: number;
  /** Time of the oldest unpublished event, RFC 3339. */
  readonly oldest: string | undefined;
}

interface InspectOptions {
  readonly url: string;
  readonly services: readonly string[];
  readonly timeoutMs: number;
  /** As in `MongoOptions`. */
  readonly databasePrefix?: string;
}

const MAX_COUNT = 10_000;

/**
 * Reads facts about MongoDB servers without changing anything. Rejects with the driver's error, because operators see
 * it.
 */
export async function inspectMongo(options: InspectOptions): Promise<MongoFacts> {
  const { url, services, timeoutMs, databasePrefix = 'commonplace_' } = options;
  const client = connect(url, timeoutMs);
  try {
    await client.connect();
    const admin = client.db('admin');
    const { version } = await admin.command({ buildInfo: 1 });
    const startedAt = performance.now();
    const { setName, localTime } = await admin.command({ hello: 1 });
    const tookMs = performance.now() - startedAt;
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
  const pending = await outbox.countDocuments({ pending: true }, { limit: MAX_COUNT });
  const first = await outbox.find({ pending: true }).sort({ at: 1, n: 1 }).limit(1).next();
  const oldest = first === null ? undefined : (JSON.parse(String(first.event)) as { time: string }).time;
  return { service, pending, oldest };
}

/** Reads records of one collection by id, from outside of the running system. */
interface MongoRecords {
  count(): Promise<number>;
  /**
   * Returns the records with the next lower ids, in descending order; starts at the highest id if `id` is undefined.
   */
  below(id: string | undefined, limit: number): Promise<{ readonly id: string; readonly sizeBytes: number }[]>;
  has(id: string): Promise<boolean>;
}

interface MongoSource {
  /** Returns access to the matching records, with their field `sizeBytes`. */
  sizes(collection: string, where: Readonly<Record<string, unknown>>): MongoRecords;
  close(): Promise<void>;
}

/** Opens the records of a service for reading, without creating anything that is missing. */
export async function openMongoSource(options: {
  readonly url: string;
  readonly service: string;
  readonly timeoutMs: number;
  readonly databasePrefix?: string;
}): Promise<MongoSource> {
  const { url, service, timeoutMs, databasePrefix = 'commonplace_' } = options;
  const client = connect(url, timeoutMs);
  await client.connect();
  const database = client.db(`${databasePrefix}${service}`);
  return {
    sizes(collection, where) {
      const records = database.collection<{ _id: string; sizeBytes?: number }>(collection);
      return {
        count: () => records.countDocuments(where),
        async below(id, limit) {
          const query = id === undefined ? where : { ...where, _id: { $lt: id } };
          const found = records.find(query, { projection: { sizeBytes: 1 } });
          const page = await found.sort({ _id: -1 }).limit(limit).toArray();
          return page.map(({ _id, sizeBytes = 0 }) => ({ id: _id, sizeBytes }));
        },
        has: async (id) => (await records.findOne({ ...where, _id: id }, { projection: { _id: 1 } })) !== null,
      };
    },
    close: () => client.close(true),
  };
}

function connect(url: string, timeoutMs: number): MongoClient {
  return new MongoClient(url, {
    appName: 'commonplace doctor',
    readConcern: { level: 'majority' },
    serverSelectionTimeoutMS: timeoutMs,
    connectTimeoutMS: timeoutMs,
    socketTimeoutMS: timeoutMs,
  });
}
