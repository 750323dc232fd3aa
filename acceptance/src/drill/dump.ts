import { createWriteStream, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BSON, MongoClient } from 'mongodb';

/** Beginning of the names of the product's databases. */
const OWN_DATABASES = /^commonplace/;
/** Number of documents that one command inserts. */
const BATCH = 500;
/** Values are read as they are stored, so that they are written back with the same types. */
const AS_STORED = { promoteValues: false, promoteLongs: false, promoteBuffers: false } as const;

/**
 * Writes all collections of the product's databases below `folder`, one file each with a document a line in extended JSON,
 * as `mongoexport` does. Returns the number of documents.
 */
export function dumpMongo(url: string, folder: string): Promise<number> {
  return withClient(url, async (client) => {
    let count = 0;
    const { databases } = await client.db().admin().listDatabases({ nameOnly: true });
    for (const { name } of databases.filter((one) => OWN_DATABASES.test(one.name))) {
      mkdirSync(join(folder, name), { recursive: true });
      for (const collection of await client.db(name).collections()) {
        const lines = async function* () {
          for await (const document of collection.find({}, AS_STORED)) {
            count++;
            yield `${BSON.EJSON.stringify(document, { relaxed: false })}\n`;
          }
        };
        const file = join(folder, name, `${collection.collectionName}.jsonl`);
        await pipeline(Readable.from(lines()), createWriteStream(file));
      }
    }
    return count;
  });
}

/** Inserts what `dumpMongo` has written into empty databases. The services create the indexes when they start. */
export function restoreMongo(url: string, folder: string): Promise<void> {
  return withClient(url, async (client) => {
    for (const name of readdirSync(folder)) {
      for (const file of readdirSync(join(folder, name))) {
        const lines = readFileSync(join(folder, name, file), 'utf8')
          .split('\n')
          .filter(Boolean);
        const documents = lines.map((line) => BSON.EJSON.parse(line, { relaxed: false }) as BSON.Document);
        const collection = client.db(name).collection(file.replace(/\.jsonl$/, ''));
        for (let at = 0; at < documents.length; at += BATCH) {
          await collection.insertMany(documents.slice(at, at + BATCH));
        }
      }
    }
  });
}

async function withClient<T>(url: string, work: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = await MongoClient.connect(url);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
