import { existsSync } from 'node:fs';
import { openConnection } from '@commonplace/kit/store/sqlite';

/** What an operator asks of the file of an index. */
export interface IndexFacts {
  /** Everything was put in once; what changes since is put in by events. */
  readonly complete: boolean;
  readonly entries: number;
}

/** Looks at an index beside the service that writes it; undefined where there is none. Throws where it can't be read. */
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
