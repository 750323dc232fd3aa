import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE_FILE } from '@commonplace/kit/runtime';
import { inspectEvents, openConnection } from '@commonplace/kit/store/sqlite';
import { inspectIndex } from '@commonplace/search/inspect';
import { whyOf } from './check.js';
import type { Line } from './embedded.js';

/**
 * Looks at the files of an embedded system, as a process of its own that can be killed when the disk hangs: SQLite
 * answers synchronously. Says a line of JSON for each thing as soon as it is known. Arguments: the data folder, and
 * the milliseconds after which no further table is checked.
 */
const [dataDir = '', patience = '0'] = process.argv.slice(2);
const until = performance.now() + Number(patience);
const say = (line: Line) => process.stdout.write(`${JSON.stringify(line)}\n`);

inspectDatabase(join(dataDir, DATABASE_FILE));
try {
  say({ what: 'index', facts: inspectIndex(join(dataDir, 'search.db')) });
} catch (error) {
  say({ what: 'index', error: whyOf(error) });
}

function inspectDatabase(file: string): void {
  if (!existsSync(file)) {
    say({ what: 'none' });
    return;
  }
  try {
    const db = openConnection(file, { readOnly: true });
    try {
      say({ what: 'events', facts: inspectEvents(db) });
      const names = db.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
      const tables = names.map(([name]) => String(name));
      say({ what: 'tables', version: String(db.get('SELECT sqlite_version()')?.[0]), count: tables.length });
      for (const table of tables) {
        if (performance.now() > until) break;
        const [verdict] = db.get(`PRAGMA quick_check('${table}')`) ?? [];
        say({ what: 'table', name: table, verdict: String(verdict) });
      }
    } finally {
      db.close();
    }
  } catch (error) {
    say({ what: 'damage', error: whyOf(error) });
  }
}
