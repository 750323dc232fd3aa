import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Connection, inspectEvents, inspectInstallation, openConnection } from '@commonplace/adapters/sqlite';
import { inspectBytes, openSizes } from '@commonplace/files/inspect';
import { DATABASE_FILE, readCheckReport } from '@commonplace/platform/runtime';
import { inspectTables } from '@commonplace/resources/inspect';
import { inspectIndex } from '@commonplace/search/inspect';
import { whyOf } from './check.js';
import type { Line } from './embedded.js';
import { blobSource, tableSource } from './sqlite-sources.js';

/**
 * Inspects the files of an embedded system. It is a separate process because SQLite calls block: it can be killed
 * when the disk hangs. Prints a line of JSON for each result as soon as it is known. Arguments: the data folder,
 * and the milliseconds that each of three inspections may take: of SQLite's tables, of users' tables, and of the
 * bytes of files; 0 for no limit.
 */
const [dataDir = '', patience = '0'] = process.argv.slice(2);
const say = (line: Line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const until = () => (patience === '0' ? Number.POSITIVE_INFINITY : performance.now() + Number(patience));

// Damage that is known already is told whatever there is time for.
const report = readCheckReport(dataDir);
if (report !== undefined) say({ what: 'report', report });
await inspectDatabase(join(dataDir, DATABASE_FILE));
try {
  say({ what: 'index', facts: inspectIndex(join(dataDir, 'search.db')) });
} catch (error) {
  say({ what: 'index', error: whyOf(error) });
}

async function inspectDatabase(file: string): Promise<void> {
  if (!existsSync(file)) {
    say({ what: 'none' });
    return;
  }
  try {
    const db = openConnection(file, { readOnly: true });
    try {
      const known = inspectInstallation(db);
      if (known !== undefined) say({ what: 'installation', known });
      say({ what: 'events', facts: inspectEvents(db) });
      inspectStructure(db);
      inspectContents(db);
      await inspectFiles(db);
    } finally {
      db.close();
    }
  } catch (error) {
    say({ what: 'damage', error: whyOf(error) });
  }
}

/** Checks the structure of each SQLite table; without a time limit also its indexes against its rows. */
function inspectStructure(db: Connection): void {
  const end = until();
  const pragma = patience === '0' ? 'integrity_check' : 'quick_check';
  const names = db.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  const tables = names.map(([name]) => String(name));
  say({ what: 'tables', version: String(db.get('SELECT sqlite_version()')?.[0]), count: tables.length });
  for (const table of tables) {
    if (performance.now() > end) break;
    const [verdict] = db.get(`PRAGMA ${pragma}('${table}')`) ?? [];
    say({ what: 'table', name: table, verdict: String(verdict) });
  }
}

/** Checks the rows of users' tables against the hashes in their heads. */
function inspectContents(db: Connection): void {
  const source = tableSource(db);
  if (source === undefined) return;
  try {
    say({ what: 'contents', facts: inspectTables(source, until()) });
  } catch (error) {
    say({ what: 'contents', error: whyOf(error) });
  }
}

/** Checks the bytes of files against their records. */
async function inspectFiles(db: Connection): Promise<void> {
  const source = blobSource(db);
  if (source === undefined) return;
  const { sizeOf, close } = await openSizes(process.env.COMMONPLACE_S3_URL || undefined, dataDir);
  try {
    say({ what: 'files', facts: await inspectBytes(source, sizeOf, until()) });
  } catch (error) {
    say({ what: 'files', error: whyOf(error) });
  } finally {
    await close();
  }
}
