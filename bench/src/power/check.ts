import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteDatabase } from '@commonplace/adapters/sqlite';
import { type Connection, openConnection } from '@commonplace/adapters/sqlite/file';
import { hashOf, type KnownDocument } from '../soak/known.js';
import type { DocumentHistory, History } from './history.js';

/**
 * Returns the faults in the image of a data folder that was cut off at a place of the recording: incomplete files,
 * acknowledged writes that are lost or differ from what was acknowledged, and unacknowledged writes of which only a
 * part exists.
 */
export async function checkImage(home: string, place: number, history: History): Promise<string[]> {
  const data = join(home, 'data');
  const acknowledged = history.documents.some(([first]) => first !== undefined && first.place < place);
  const faults = checkSecrets(data, acknowledged, history);
  const file = join(data, 'commonplace.db');
  if (!existsSync(file)) return acknowledged ? [...faults, 'there is no database'] : faults;
  // Opens the database like the system does, including recovery.
  await (await openSqliteDatabase({ file })).close();
  const db = openConnection(file, { readOnly: true });
  try {
    faults.push(...integrityOf('commonplace.db', db), ...checkSearch(data));
    if (!acknowledged || faults.length > 0) return faults;
    return [...checkDocuments(db, place, history), ...checkFiles(db, data, place, history)];
  } finally {
    db.close();
  }
}

function checkSecrets(data: string, acknowledged: boolean, { secrets }: History): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) => {
    const found = existsSync(join(data, name)) ? readFileSync(join(data, name), 'utf8') : undefined;
    if (found === secret || (found === undefined && !acknowledged)) return [];
    return [found === undefined ? `${name} is lost` : `${name} is not whole`];
  });
}

function integrityOf(name: string, db: Connection): string[] {
  return db.all('PRAGMA integrity_check').flatMap(([finding]) => (finding === 'ok' ? [] : [`${name}: ${finding}`]));
}

/**
 * Checks the search index. It may be missing or unreadable, because it is then rebuilt; but a damaged index must not
 * count as complete.
 */
function checkSearch(data: string): string[] {
  const file = join(data, 'search.db');
  if (!existsSync(file)) return [];
  let db: Connection | undefined;
  try {
    db = openConnection(file, { readOnly: true });
    if (db.get('SELECT value FROM facts WHERE name = ?', ['stamp']) === undefined) return [];
  } catch {
    db?.close();
    return [];
  }
  const faults = integrityOf('search.db', db);
  db.close();
  return faults;
}

/** Part of the message of each fault about a document that lacks an acknowledged write. */
export const LOST = 'not as after';

interface Row {
  readonly id: string;
  readonly parentKey: string;
  readonly name: string;
  readonly state: string;
  readonly version: number;
  readonly contentVersion: number;
}

/** Reads the records of a table; empty if the table itself is lost. */
function rowsOf<T>(db: Connection, table: string): T[] {
  if (db.get('SELECT 1 FROM sqlite_master WHERE name = ?', [table]) === undefined) return [];
  return db.all(`SELECT doc FROM ${table}`).map(([doc]) => JSON.parse(String(doc)) as T);
}

function checkDocuments(db: Connection, place: number, { workArea, documents }: History): string[] {
  const rows = new Map(
    rowsOf<Row & { type: string; workspaceId: string }>(db, 'resources__nodes')
      .filter(({ type, workspaceId }) => type === 'document' && workspaceId === workArea.workspaceId)
      .map((row) => [row.id, row]),
  );
  const texts = new Map(
    rowsOf<{ id: string; text: string }>(db, 'resources__contents').map((row) => [row.id, row.text]),
  );
  const events = countEvents(db);
  const replays = new Set(
    rowsOf<{ requestId: string }>(db, 'resources__idempotency').map(({ requestId }) => requestId),
  );
  const faults: string[] = [];
  for (const writes of documents) {
    const id = writes[0]?.after.id ?? '';
    const fits = (state: KnownDocument | undefined) => matches(state, rows.get(id), texts.get(id));
    const done = stepsDone(writes, place, fits);
    if (done === undefined) {
      const sure = writes.filter((write) => write.place < place).length;
      faults.push(`${id}: ${LOST} ${sure} writes of ${writes.length}: ${JSON.stringify(rows.get(id))}`);
      continue;
    }
    rows.delete(id);
    writes.forEach(({ event, after, requestId }, step) => {
      const [key, times] = [`${event} ${id} v${after.version}`, step < done ? 1 : 0];
      if ((events.get(key) ?? 0) !== times) faults.push(`${key} is there ${events.get(key) ?? 0} times, not ${times}`);
      if (replays.has(requestId) !== step < done) faults.push(`${key}: its write and the record of its retry differ`);
    });
  }
  return [...faults, ...[...rows.keys()].map((id) => `${id}: nobody wrote it`)];
}

/**
 * Returns the number of a document's writes that an image contains: the acknowledged ones, or one more. Returns
 * undefined if the image matches neither.
 */
function stepsDone(writes: DocumentHistory, place: number, fits: (state: KnownDocument | undefined) => boolean) {
  const sure = writes.filter((write) => write.place < place).length;
  return [sure, sure + 1].find((count) => count <= writes.length && fits(writes[count - 1]?.after));
}

function matches(known: KnownDocument | undefined, row: Row | undefined, text: string | undefined): boolean {
  if (known === undefined || row === undefined) return known === row;
  return (
    row.parentKey === known.parentId &&
    row.name === known.name &&
    (row.state === 'active') === (known.state === 'active') &&
    row.version === known.version &&
    row.contentVersion === known.contentVersion &&
    hashOf(text ?? '') === known.contentHash
  );
}

function countEvents(db: Connection): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { type, subject, data } of rowsOf<{ type: string; subject: string; data: { version?: number } }>(
    db,
    'events',
  )) {
    const key = `${type} ${subject} v${data.version}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

interface FileRow {
  readonly id: string;
  readonly status: string;
  readonly versionId?: string;
}

/**
 * Checks that files with the status ready have their bytes, and that acknowledged uploads are ready or can be
 * completed.
 */
function checkFiles(db: Connection, data: string, place: number, { uploads }: History): string[] {
  const files = new Map(rowsOf<FileRow>(db, 'files__files').map((row) => [row.id, row]));
  const versions = new Map(
    rowsOf<{ id: string; blobId: string; sha256: string }>(db, 'files__versions').map((row) => [row.id, row]),
  );
  const bytes = bytesBelow(join(data, 'files'));
  const ready = [...files.values()].filter(({ status }) => status === 'ready');
  const wrong = ready.flatMap(({ id, versionId = '' }) => {
    const version = versions.get(versionId);
    return version !== undefined && bytes.get(version.blobId) === version.sha256
      ? []
      : [`${id} is ready without its bytes`];
  });
  const sums = new Set(bytes.values());
  const lost = uploads
    .filter((upload) => upload.place < place)
    .flatMap(({ id, sha256, ready }) => {
      const status = files.get(id)?.status;
      if (status === undefined || (ready && status !== 'ready')) return [`the file ${id} is lost: ${status}`];
      return status === 'ready' && !sums.has(sha256) ? [`the bytes of the file ${id} are lost`] : [];
    });
  return [...wrong, ...lost];
}

/** Returns the checksums of stored bytes by file name. */
function bytesBelow(folder: string): Map<string, string> {
  if (!existsSync(folder)) return new Map();
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.map(({ name, parentPath }) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(parentPath, name)))
        .digest('hex'),
    ]),
  );
}
