import { existsSync } from 'node:fs';
import { openConnection } from '@commonplace/adapters/sqlite/file';

/** Holds the facts about an index file that operators ask for. */
export interface IndexFacts {
  /** Whether everything has been indexed once; later changes arrive by events. */
  readonly complete: boolean;
  readonly entries: number;
}

/**
 * Inspects an index while the service may be writing it. Returns undefined when there is none. Throws when it can't be
 * read.
 */
export function inspectIndex(path: string): IndexFacts | undefined {
  if (!existsSync(path)) return undefined;
  const db = openConnection(path, { readOnly: true });
  try {
    return {
      complete: db.get('SELECT value FROM facts WHERE name = ?', ['complete']) !== undefined,
      entries: Number(db.get('SELECT count(*) FROM entries')?.[0]),
    };
  } finally {
    db.close();
  }
}
