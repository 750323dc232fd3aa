import { newId } from '@commonplace/kit/id';
import { agree } from '@commonplace/kit/installation';
import { silentLog } from '@commonplace/kit/log';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type MongoDatabase, openMongoDatabase } from '../../src/mongo/index.js';
import { dropDatabases, mongoUrl } from '../../src/testing/index.js';

let prefix: string;
const opened: MongoDatabase[] = [];
beforeEach(() => {
  prefix = `i${newId().slice(-8)}_`;
});
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
  await dropDatabases(prefix);
});

async function open(): Promise<MongoDatabase> {
  const database = await openMongoDatabase({ url: mongoUrl, databasePrefix: prefix });
  opened.push(database);
  return database;
}

/** Does what a process of one service does at its start. */
async function start(service: string): Promise<string> {
  const database = await open();
  const options = { adopt: [], log: silentLog };
  const { installationId } = await agree(database.installation(), [], options);
  await agree(database.installationOf(service), [], { ...options, givenId: installationId });
  return installationId;
}

async function writeRecord(service: string): Promise<void> {
  const store = (await open()).store(service);
  const things = await store.collection({ name: 'things', indexes: [] });
  const work = store.begin();
  work.insert(things, { id: newId() });
  await work.commit();
}

test('services that start at the same moment are one installation, and so is a later one', async () => {
  const ids = await Promise.all(['identity', 'tenancy', 'files', 'search'].map(start));
  expect(new Set(ids).size).toBe(1);
  expect(await start('messaging')).toBe(ids[0]);
  expect(await (await open()).installationOf('files').read()).toMatchObject({ origin: 'new' });
});

test('databases of a release without ids are claimed one by one', async () => {
  await writeRecord('identity');
  await writeRecord('files');
  const id = await start('identity');
  expect(await start('files')).toBe(id);
  expect(await (await open()).installationOf('files').read()).toMatchObject({ installationId: id, origin: 'upgrade' });
});

test('if the shared record is lost, the id of the services is kept', async () => {
  const id = await start('identity');
  await dropDatabases(`${prefix}installation`);
  expect(await start('files')).toBe(id);
});

test('a database of another installation is refused', async () => {
  const database = await open();
  const installation = { installationId: newId(), origin: 'new', bound: [], keys: {} } as const;
  await start('identity');
  await database.installationOf('files').insert(installation);
  await expect(start('files')).rejects.toThrow(installation.installationId);
});
