import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inspectEvents, inspectInstallation } from '@commonplace/adapters/sqlite';
import { type Connection, openConnection } from '@commonplace/adapters/sqlite/file';
import { inspectBytes, openSizes } from '@commonplace/files/inspect';
import { DATABASE_FILE, readCheckReport } from '@commonplace/platform/runtime';
import { inspectTables } from '@commonplace/resources/inspect';
import { inspectIndex } from '@commonplace/search/inspect';
import { errorLine } from './check.js';
import type { Line } from './embedded.js';
import { blobSource, tableSource } from './sqlite-sources.js';

/**
 * Inspects the files of an embedded system. It runs in a separate process, which can be killed if the disk hangs,
 * because SQLite calls block. It prints each result as a line of JSON as soon as it is known. Arguments: the data
 * folder, and the time limit in milliseconds for each of three inspections, those of SQLite's tables, of users' tables,
 * and of the bytes of files; 0 means no limit.
 */
export async function start(): Promise<void> {
  // Damage that is already known is reported whatever the time limit.
  const report = readCheckReport(dataDir);
  if (report !== undefined) printLine({ what: 'report', report });
  await inspectDatabase(join(dataDir, DATABASE_FILE));
  try {
    printLine({ what: 'index', facts: inspectIndex(join(dataDir, 'search.db')) });
  } catch (error) {
    printLine({ what: 'index', error: errorLine(error) });
  }
}

const [dataDir = '', timeLimit = '0'] = process.argv.slice(2);
const printLine = (line: Line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const until = () => (timeLimit === '0' ? Number.POSITIVE_INFINITY : performance.now() + Number(timeLimit));

async function inspectDatabase(file: string): Promise<void> {
  if (!existsSync(file)) {
    printLine({ what: 'none' });
    return;
  }
  try {
    const db = openConnection(file, { readOnly: true });
    try {
      const known = inspectInstallation(db);
      if (known !== undefined) printLine({ what: 'installation', known });
      printLine({ what: 'events', facts: await inspectEvents(db) });
      inspectStructure(db);
      inspectContents(db);
      await inspectFiles(db);
    } finally {
      db.close();
    }
  } catch (error) {
    printLine({ what: 'damage', error: errorLine(error) });
  }
}

/** Checks the structure of each SQLite table. Without a time limit it also compares indexes with rows. */
function inspectStructure(db: Connection): void {
  const end = until();
  const pragma = timeLimit === '0' ? 'integrity_check' : 'quick_check';
  const names = db.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  const tables = names.map(([name]) => String(name));
  printLine({ what: 'tables', version: String(db.get('SELECT sqlite_version()')?.[0]), count: tables.length });
  for (const table of tables) {
    if (performance.now() > end) break;
    const [verdict] = db.get(`PRAGMA ${pragma}('${table}')`) ?? [];
    printLine({ what: 'table', name: table, verdict: String(verdict) });
  }
}

/** Checks the rows of users' tables against the hashes in the tables' heads. */
function inspectContents(db: Connection): void {
  const source = tableSource(db);
  if (source === undefined) return;
  try {
    printLine({ what: 'contents', facts: inspectTables(source, until()) });
  } catch (error) {
    printLine({ what: 'contents', error: errorLine(error) });
  }
}

/** Checks the bytes of files against their records. */
async function inspectFiles(db: Connection): Promise<void> {
  const source = blobSource(db);
  if (source === undefined) return;
  const { sizeOf, close } = await openSizes(process.env.COMMONPLACE_S3_URL || undefined, dataDir);
  try {
    printLine({ what: 'files', facts: await inspectBytes(source, sizeOf, until()) });
  } catch (error) {
    printLine({ what: 'files', error: errorLine(error) });
  } finally {
    await close();
  }
}
