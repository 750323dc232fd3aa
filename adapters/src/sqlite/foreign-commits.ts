import type { Connection } from './file/binding.js';
import { plainStep, type Step } from './file/writer-protocol.js';

/**
 * Counts the commits of processes that do not own the file, such as a command beside the running system, so that the
 * owner knows when what it has in memory may be out of date. SQLite's `data_version` would count the owner's as well.
 */
export const FOREIGN_COMMITS_TABLE = plainStep(
  'CREATE TABLE IF NOT EXISTS foreign_commits (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL)',
);

/** A step that a process that does not own the file adds to each commit. */
export const COUNT_FOREIGN_COMMIT: Step = [
  'INSERT INTO foreign_commits (id, count) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET count = count + 1',
  [],
  'change',
];

/** Returns the number of commits by processes that do not own the file. */
export function readForeignCommits(reader: Connection): number {
  return (reader.get('SELECT count FROM foreign_commits WHERE id = 1')?.[0] as number | undefined) ?? 0;
}
