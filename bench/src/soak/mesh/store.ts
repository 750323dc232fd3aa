import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFolders, createWorkspace } from '../../fill.js';
import type { Answer, Client } from '../../http.js';
import { readBack } from '../read-back.js';
import { searchAgrees } from '../search-check.js';
import { repeatAcknowledged, settlePending } from '../settle-pending.js';
import type { Tally } from '../tally.js';
import { createLedger, runWriter } from '../writer.js';
import { busy } from './busy.js';
import type { Mesh } from './mesh.js';
import { openRecords, type Records } from './records.js';

const WRITERS = 6;
const FOLDERS = 4;
/** Ranges in milliseconds: of writing before the store is killed, and of its absence. */
const [BEFORE_MS, AWAY_MS] = [
  [300, 2000],
  [200, 2500],
] as const;
/** Absence in milliseconds in every third round. It is longer than a request waits for the store. */
const LONG_AWAY_MS = 12_000;
/** Minimum number of writes before the kill. They take longer on a busy machine. */
const WRITES = 20;
/** Milliseconds after the return of the store within which the same processes must accept writes again. */
const BACK_MS = 60_000;
const SEARCH_MS = 60_000;
const PROBE_MS = 200;

/**
 * Kills the store under load, `rounds` times. Checks that nothing acknowledged is lost, and that every retried write
 * takes effect once.
 */
export async function soakStore(mesh: Mesh, rounds: number, tally: Tally): Promise<void> {
  const records = await openRecords(mesh.servers.mongodbUrl);
  try {
    const client = mesh.balancer.client(mesh.apiKey);
    for (let round = 1; round <= rounds; round++) {
      console.log(`store ${round}/${rounds}: ${await runRound(mesh, client, records, tally, round % 3 === 2)}`);
    }
  } finally {
    await records.close();
  }
}

async function runRound(mesh: Mesh, client: Client, records: Records, tally: Tally, long: boolean): Promise<string> {
  const { store } = mesh.servers;
  const workspaceId = await createWorkspace(client, 'Store');
  const ledger = createLedger({ workspaceId, folders: await createFolders(client, workspaceId, FOLDERS) });
  const aside = await createWorkspace(client, 'Aside');
  const [probed, asked] = (await createFolders(client, aside, 2)) as [string, string];
  const unclear: string[] = [];
  const watched = watch(client, unclear);
  let stop = false;
  const writing = Promise.all(Array.from({ length: WRITERS }, () => runWriter(watched, ledger, () => stop)));
  await busy(randomInt(...BEFORE_MS), () => ledger.done.length, WRITES);
  await store.kill();
  const probing = probe(watched, probed, () => stop);
  await sleep(long ? LONG_AWAY_MS : randomInt(...AWAY_MS));
  await store.start();
  const started = performance.now();
  const back = await writesAgain(client, asked);
  const recovery = performance.now() - started;
  stop = true;
  const pending = (await writing).filter((operation) => operation !== undefined);
  const unavailable = await probing;
  const answered = ledger.done.length;
  tally.check('the services come back by themselves', back);
  tally.check('a failed request gets Retry-After or an unknown outcome', unclear);

  const patient = retrying(client);
  const unsure = new Set(pending.map(({ before }) => before?.id));
  const sure = [...ledger.documents.values()].filter(({ id }) => !unsure.has(id));
  tally.check('every acknowledged write is there', [...ledger.refusals, ...(await readBack(patient, sure))]);
  const repeated = await repeatAcknowledged(patient, ledger, unsure);
  tally.check('the retry of an acknowledged write is its first answer', repeated);
  const refused = ledger.refusals.length;
  const settled = await Promise.all(pending.map((operation) => settlePending(patient, ledger, operation)));
  tally.check('an unacknowledged write is all or nothing, and its retry one effect', [
    ...settled.flatMap(({ faults }) => faults),
    ...ledger.refusals.slice(refused),
  ]);
  tally.check('every write has its one event', await records.eventsOf(ledger));
  const { took, faults } = await searchAgrees(patient, ledger, SEARCH_MS);
  tally.check('search comes to agree with the store', faults);
  const happened = settled.filter((one) => one.happened).length;
  return (
    `killed under ${WRITERS} writers: ${answered} writes acknowledged, ${pending.length} not (${happened} had happened), ` +
    `${unavailable} requests failed; writes again after ${Math.round(recovery)} ms, ` +
    `search agrees after ${Math.round(took)} ms more`
  );
}

/** Wraps a client so that it records each failure that leaves unclear what the client should do. */
function watch(client: Client, unclear: string[]): Client {
  return {
    ...client,
    async send(method, path, body, headers) {
      const answer = await client.send(method, path, body, headers).catch((error: Error) => {
        unclear.push(`${method} ${path} gets no answer: ${error.message}`);
        throw error;
      });
      if (answer.status >= 500 && !isClear(answer)) unclear.push(`${method} ${path}: ${answer.status} ${answer.text}`);
      return answer;
    },
  };
}

/** Returns whether an answer is 503 with `Retry-After`, or states that the outcome is unknown. */
function isClear(answer: Answer): boolean {
  return answer.status === 503 && (answer.headers['retry-after'] !== undefined || codeOf(answer) === 'timeout');
}

function codeOf({ text }: Answer): string {
  try {
    return (JSON.parse(text) as { error: { code: string } }).error.code;
  } catch {
    return '';
  }
}

/** Reads and writes while the store is away. Returns the number of requests that failed with a server error. */
async function probe(client: Client, folder: string, stopped: () => boolean): Promise<number> {
  let unavailable = 0;
  const open: Promise<void>[] = [];
  while (!stopped()) {
    const sent =
      randomInt(2) === 0
        ? client.send('POST', '/resources', { type: 'document', name: randomUUID(), parent_id: folder })
        : client.send('GET', `/resources/${folder}`);
    const status = sent.then(
      (answer) => answer.status,
      () => 500,
    );
    open.push(
      status.then((code) => {
        if (code >= 500) unavailable++;
      }),
    );
    await sleep(PROBE_MS);
  }
  await Promise.all(open);
  return unavailable;
}

/** Retries a write until it succeeds. Returns a fault if it does not succeed in time. */
async function writesAgain(client: Client, folder: string): Promise<string[]> {
  const until = performance.now() + BACK_MS;
  for (;;) {
    const answer = await client
      .send('PATCH', `/resources/${folder}`, { description: randomUUID() })
      .catch(() => undefined);
    if (answer?.status === 200) return [];
    if (performance.now() > until) return [`no write after ${BACK_MS} ms: ${answer?.status} ${answer?.text}`];
    await sleep(100);
  }
}

/**
 * Wraps a client so that it retries 503 and requests whose key is still in progress, as the API documents it for
 * clients.
 */
function retrying(client: Client): Client {
  const send: Client['send'] = async (...request) => {
    const until = performance.now() + BACK_MS;
    for (;;) {
      const answer = await client.send(...request);
      const again = answer.status === 503 || codeOf(answer) === 'idempotency_in_progress';
      if (!again || performance.now() > until) return answer;
      await sleep(250);
    }
  };
  return {
    ...client,
    send,
    async ask<T>(method: string, path: string, body?: unknown) {
      const { status, text } = await send(method, path, body);
      if (status >= 300) throw new Error(`${method} ${path} answers ${status}: ${text.slice(0, 500)}`);
      return (JSON.parse(text) as { data: T }).data;
    },
  };
}
