import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFolders, createWorkspace } from '../fill.js';
import { openClient } from '../http.js';
import { type System, startSystem } from '../system.js';
import type { EventLog } from './event-log.js';
import { readBack } from './read-back.js';
import { searchAgrees } from './search-check.js';
import { repeatAcknowledged, settlePending } from './settle-pending.js';
import type { Tally } from './tally.js';
import { checkUploads, createUploads, runUploader, UPLOAD_SETTINGS, UPLOADERS, type Uploads } from './uploads.js';
import { createLedger, type Ledger, runWriter } from './writer.js';

export const WRITERS = 16;
const FOLDERS = 8;
/** Minimum duration of writing before the kill in milliseconds. Below, the maximum. */
const LEAST_MS = 200;
const MAX_MS = 1600;

export interface RoundResult {
  readonly uploads: Uploads;
  /** The restarted system. */
  readonly system: System;
  readonly ledger: Ledger;
  /** Number of writes that were answered before the crash. */
  readonly answered: number;
  /** Number of writes that were not answered. Below, the number of those that had taken effect. */
  readonly unanswered: number;
  readonly happened: number;
  readonly searchMs: number;
}

/** Writes, kills the system, restarts it, and compares the remaining data with the answers. */
export async function runRound(
  system: System,
  home: string,
  events: EventLog,
  tally: Tally,
  earlier: readonly Uploads[],
): Promise<RoundResult> {
  const writing = openClient(system.baseUrl, system.apiKey, WRITERS);
  const workspaceId = await createWorkspace(writing, 'Soak');
  const ledger = createLedger({ workspaceId, folders: await createFolders(writing, workspaceId, FOLDERS) });
  const uploads = await createUploads(writing);
  const uploaders = Array.from({ length: UPLOADERS }, () => runUploader(writing, uploads));
  const writers = Array.from({ length: WRITERS }, () => runWriter(writing, ledger));
  await sleep(randomInt(LEAST_MS, MAX_MS));
  await system.kill();
  const pending = (await Promise.all(writers)).filter((operation) => operation !== undefined);
  await Promise.all(uploaders);
  writing.close();
  const answered = ledger.done.length;

  const restarted = await startSystem({ home, port: portOf(system), settings: UPLOAD_SETTINGS });
  const reading = openClient(restarted.baseUrl, restarted.apiKey, WRITERS);
  try {
    const unsure = new Set(pending.map(({ before }) => before?.id));
    const sure = [...ledger.documents.values()].filter(({ id }) => !unsure.has(id));
    tally.check('every acknowledged write is there', [...ledger.refusals, ...(await readBack(reading, sure))]);
    const repeated = await repeatAcknowledged(reading, ledger, unsure);
    tally.check('the retry of an acknowledged write is its first answer', repeated);
    const refused = ledger.refusals.length;
    const settled = await Promise.all(pending.map((operation) => settlePending(reading, ledger, operation)));
    tally.check('an unacknowledged write is all or nothing, and its retry one effect', [
      ...settled.flatMap(({ faults }) => faults),
      ...ledger.refusals.slice(refused),
    ]);
    const torn = await checkUploads(reading, [...earlier, uploads], home);
    tally.check('every upload is whole or not there, and nothing is left of the others', [
      ...uploads.refusals,
      ...torn,
    ]);
    tally.check('every write has its one event', events.check(ledger));
    const { took, faults } = await searchAgrees(reading, ledger);
    tally.check('search agrees with the store', faults);
    const happened = settled.filter((one) => one.happened).length;
    return { system: restarted, uploads, ledger, answered, unanswered: pending.length, happened, searchMs: took };
  } catch (error) {
    await restarted.kill();
    throw error;
  } finally {
    reading.close();
  }
}

function portOf({ baseUrl }: System): number {
  return Number(new URL(baseUrl).port);
}
