import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { newId } from '@commonplace/kit/id';
import type { StoredRecord } from '@commonplace/kit/store';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type MongoDatabase, openMongoDatabase } from '../../src/mongo/index.js';
import { dropDatabases, onServer, mongoUrl as url } from '../../src/testing/index.js';

const WRITER = fileURLToPath(new URL('./mongo-killed-writer.js', import.meta.url));

interface Signed extends StoredRecord {
  readonly by: string;
}

function killedSuite(): void {
  const databasePrefix = `test_${newId().slice(-12)}_`;
  let database: MongoDatabase;
  beforeAll(async () => {
    database = await openMongoDatabase({ url, databasePrefix });
  });
  afterAll(async () => {
    await database.close();
    await dropDatabases(databasePrefix);
  });

  test('a record that a killed process was about to change can be written', async () => {
    const store = database.store('orphans');
    const records = await store.collection<Signed>({ name: 'records', indexes: [] });
    const first = store.begin();
    const before = first.insert(records, { id: newId(), by: 'first' });
    await first.commit();
    const writer = fork(WRITER, [url, databasePrefix, before.id]);
    expect(await once(writer, 'message')).toEqual(['about to commit', undefined]);
    writer.kill('SIGKILL');
    await once(writer, 'exit');

    // Rejects with Unavailable after 10 seconds if the abandoned transaction still blocks it.
    const second = store.begin();
    second.replace(records, before, { ...before, by: 'second' });
    second.insert(records, { id: newId(), by: 'second' });
    await second.commit();
    expect(await records.get(before.id)).toMatchObject({ by: 'second', version: 2 });
    expect(await records.get(`${before.id}-2`)).toBeUndefined();
  });
}

onServer('COMMONPLACE_MONGODB_URL', () => describe('killed processes on MongoDB', killedSuite));
