import { randomBytes, randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFolders, createWorkspace } from '../fill.js';
import { type Answer, type Client, openClient } from '../http.js';
import type { KnownDocument } from '../soak/known.js';
import { acknowledged, changeOperation, createOperation, oneOf, send, type WorkArea } from '../soak/operations.js';
import { createUploads, UPLOAD_SETTINGS, uploadOne } from '../soak/uploads.js';
import { startSystem } from '../system.js';
import type { History } from './history.js';
import { type Entry, readRecording, recorderSettings } from './recording.js';

const WRITERS = 16;
const UPLOADERS = 2;
const FOLDERS = 8;
/** Percentage of a writer's operations that create a document. */
const CREATIONS = 35;
const MAX_FILE_BYTES = 1_300_000;
/** Maximum size of a recording in bytes. It is limited because a recording is read into memory as a whole. */
const MAX_RECORDED_BYTES = 600e6;

export interface Recording {
  /** Folder in which the system ran. */
  readonly home: string;
  readonly entries: readonly Entry[];
  readonly history: History;
}

type AcknowledgedWrite = { requestId: string; after: KnownDocument; event: string };

/** Runs an embedded system under load on an empty folder for `loadMs` milliseconds, and records its disk operations. */
export async function recordLoad(
  folder: string,
  loadMs: number,
  settings: Readonly<Record<string, string>>,
): Promise<Recording> {
  const home = join(folder, 'home');
  const log = join(folder, 'recording');
  mkdirSync(home, { recursive: true });
  const recorded = recorderSettings(folder, home, log);
  const system = await startSystem({ home, settings: { ...UPLOAD_SETTINGS, ...recorded, ...settings } });
  const client = openClient(system.baseUrl, system.apiKey, WRITERS + UPLOADERS);
  try {
    const workspaceId = await createWorkspace(client, 'Power');
    const workArea = { workspaceId, folders: await createFolders(client, workspaceId, FOLDERS) };
    const files = await createUploads(client);
    const stop = new AbortController();
    const writers = Array.from({ length: WRITERS }, () => write(client, workArea, stop.signal));
    const uploaders = Array.from({ length: UPLOADERS }, () => upload(client, files.workspaceId, stop.signal));
    await Promise.race([enough(log, loadMs), ...writers, ...uploaders]);
    stop.abort();
    const documents = (await Promise.all(writers)).flat();
    const uploads = (await Promise.all(uploaders)).flat();
    client.close();
    await system.stop();
    const entries = readRecording(log);
    const places = placesOf(entries);
    const placed = <T extends { requestId: string }>(write: T) => ({
      ...write,
      place: placeOf(places, write.requestId),
    });
    const history = {
      workArea,
      documents: documents.map((writes) => writes.map(placed)),
      uploadsWorkspaceId: files.workspaceId,
      uploads: uploads.map(placed),
      secrets: secretsOf(join(home, 'data')),
      bootstrap: readFileSync(join(home, 'bootstrap.json'), 'utf8'),
    };
    return { home, entries, history };
  } catch (error) {
    await system.kill();
    throw error;
  }
}

/** Waits `loadMs` milliseconds, or until the recording reaches its maximum size. */
async function enough(log: string, loadMs: number): Promise<void> {
  const until = performance.now() + loadMs;
  while (performance.now() < until && statSync(log).size < MAX_RECORDED_BYTES) await sleep(100);
}

/** Writes until stopped. Returns the state of each document after each of its writes. */
async function write(client: Client, workArea: WorkArea, stop: AbortSignal): Promise<AcknowledgedWrite[][]> {
  const own: AcknowledgedWrite[][] = [];
  while (!stop.aborted) {
    const writes = own.length === 0 || randomInt(100) < CREATIONS ? undefined : oneOf(own);
    const known = writes?.at(-1)?.after;
    const operation = known === undefined ? createOperation(workArea) : changeOperation(known, workArea);
    const answer = await send(client, operation);
    if (answer.status >= 300) throw new Error(`${operation.kind} answers ${answer.status}: ${answer.text}`);
    const acknowledgedWrite = {
      requestId: requestIdOf(answer),
      after: acknowledged(operation, answer),
      event: operation.event,
    };
    if (writes === undefined) own.push([acknowledgedWrite]);
    else writes.push(acknowledgedWrite);
  }
  return own;
}

async function upload(client: Client, workspaceId: string, stop: AbortSignal) {
  const taken = [];
  while (!stop.aborted) taken.push(await uploadOne(client, workspaceId, randomBytes(randomInt(1, MAX_FILE_BYTES))));
  return taken;
}

function requestIdOf({ headers }: Answer): string {
  return String(headers['x-request-id']);
}

function placesOf(entries: readonly Entry[]): ReadonlyMap<string, number> {
  return new Map(entries.flatMap((entry, place) => (entry.kind === 'answer' ? [[entry.requestId, place]] : [])));
}

function placeOf(places: ReadonlyMap<string, number>, requestId: string): number {
  const place = places.get(requestId);
  if (place === undefined) throw new Error(`the answer ${requestId} is not in the recording`);
  return place;
}

function secretsOf(data: string): Record<string, string> {
  const names = ['secret.key', 'secrets.key'];
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(data, name), 'utf8')]));
}
