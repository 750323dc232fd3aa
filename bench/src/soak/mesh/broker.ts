import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFolders, createWorkspace } from '../../fill.js';
import type { Client } from '../../http.js';
import { readBack } from '../read-back.js';
import { searchAgrees } from '../search-check.js';
import type { Tally } from '../tally.js';
import { createLedger, runWriter } from '../writer.js';
import { busy } from './busy.js';
import type { Mesh } from './mesh.js';
import { openRecords, type Records } from './records.js';
import { addPerson, runSharer, type Shares } from './shares.js';

const WRITERS = 4;
const FOLDERS = 4;
/** Ranges in milliseconds: of writing before the broker is killed, of its absence, and of writing after its return. */
const [BEFORE_MS, AWAY_MS, AFTER_MS] = [
  [500, 2000],
  [200, 2000],
  [500, 1500],
] as const;
/** Minimum number of writes in each of these periods, which take longer on a busy machine. */
const WRITES = 20;
/** Milliseconds after the last write within which the effects of all acknowledged writes must exist. */
const TIMEOUT_MS = 60_000;
/** Milliseconds to wait for duplicates, which arrive soon after the first effect. */
const TWICE_MS = 3000;

/** Kills NATS and wipes its disk under load, `rounds` times. Checks that each write has each of its effects once. */
export async function soakBroker(mesh: Mesh, rounds: number, tally: Tally): Promise<void> {
  const records = await openRecords(mesh.servers.mongodbUrl);
  try {
    const client = mesh.balancer.client(mesh.apiKey);
    for (let round = 1; round <= rounds; round++) {
      console.log(`nats ${round}/${rounds}: ${await runRound(mesh, client, records, tally)}`);
    }
  } finally {
    await records.close();
  }
}

async function runRound(mesh: Mesh, client: Client, records: Records, tally: Tally): Promise<string> {
  const { broker } = mesh.servers;
  const workspaceId = await createWorkspace(client, 'Broker');
  const ledger = createLedger({ workspaceId, folders: await createFolders(client, workspaceId, FOLDERS) });
  const shared = await createWorkspace(client, 'Shares');
  const reader = await addPerson(client, mesh.baseUrl(), shared);
  let stop = false;
  const stopped = () => stop;
  const writing = Promise.all(Array.from({ length: WRITERS }, () => runWriter(client, ledger, stopped)));
  const sharing = runSharer(client, shared, reader, stopped);
  sharing.catch(() => {});
  const written = () => ledger.done.length;
  await busy(randomInt(...BEFORE_MS), written, WRITES);
  await broker.kill({ wipe: true });
  await busy(randomInt(...AWAY_MS), written, WRITES);
  await broker.start();
  await busy(randomInt(...AFTER_MS), written, WRITES);
  stop = true;
  const failed = (await writing).filter((operation) => operation !== undefined);
  const shares = await sharing.catch((error: Error) => error);
  tally.check('no write fails while the broker is away', [
    ...ledger.refusals,
    ...failed.map(({ kind, path }) => `${kind} ${path} fails`),
    ...(shares instanceof Error ? [shares.message] : []),
  ]);
  const documents = ledger.documents.values();
  tally.check('every acknowledged write is there', await readBack(client, documents));
  tally.check('every write has its one event', await records.eventsOf(ledger));
  const { took, faults } = await searchAgrees(client, ledger, TIMEOUT_MS);
  tally.check('search comes to agree with the store', faults);
  const notificationFaults = shares instanceof Error ? [] : await checkNotifications(records, shares);
  tally.check('each share notifies its recipient once', notificationFaults);
  return (
    `killed and wiped under ${WRITERS} writers: ${ledger.done.length} writes, ${failed.length} failed, ${shares instanceof Error ? 0 : shares.ids.length} shares; ` +
    `search agrees ${Math.round(took)} ms after the last`
  );
}

/** Waits until every recipient is notified, and then for duplicates. Returns the faults. */
async function checkNotifications(records: Records, shares: Shares): Promise<string[]> {
  const until = performance.now() + TIMEOUT_MS;
  while ((await records.notificationsOf(shares)).length > 0 && performance.now() < until) await sleep(200);
  await sleep(TWICE_MS);
  return records.notificationsOf(shares);
}
