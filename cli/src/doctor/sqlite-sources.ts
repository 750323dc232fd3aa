import type { Connection } from '@commonplace/adapters/sqlite/file';
import type { BlobSource } from '@commonplace/files/inspect';
import type { TableSource } from '@commonplace/resources/inspect';

/** Returns the blobs in use in an embedded system's database; undefined if no file has ever been stored. */
export function blobSource(db: Connection): BlobSource | undefined {
  if (!hasTable(db, 'files__blobs')) return undefined;
  const used = `FROM files__blobs WHERE doc ->> 'uses' > 0`;
  return {
    count: () => Number(db.get(`SELECT count(*) ${used}`)?.[0]),
    below: (id, limit) =>
      db
        .all(`SELECT id, doc ->> 'sizeBytes' ${used} AND (? IS NULL OR id < ?) ORDER BY id DESC LIMIT ?`, [
          id ?? null,
          id ?? null,
          limit,
        ])
        .map(([blobId, size]) => ({ id: String(blobId), sizeBytes: Number(size) })),
    has: (id) => db.get(`SELECT 1 ${used} AND id = ?`, [id]) !== undefined,
  };
}

/** Returns the tables and their chunks in an embedded system's database; undefined if there has never been a table. */
export function tableSource(db: Connection): TableSource | undefined {
  if (!hasTable(db, 'resources__tables') || !hasTable(db, 'resources__table_chunks')) return undefined;
  const docOf = (table: string, id: string) => db.get(`SELECT doc FROM ${table} WHERE id = ?`, [id])?.[0];
  const parsed = (doc: unknown) => JSON.parse(String(doc));
  return {
    count: () => Number(db.get('SELECT count(*) FROM resources__tables')?.[0]),
    above: (id, limit) =>
      db
        .all('SELECT doc FROM resources__tables WHERE ? IS NULL OR id > ? ORDER BY id LIMIT ?', [
          id ?? null,
          id ?? null,
          limit,
        ])
        .map(([doc]) => parsed(doc)),
    head(id) {
      const doc = docOf('resources__tables', id);
      return doc === undefined ? undefined : parsed(doc);
    },
    chunk(id) {
      const doc = docOf('resources__table_chunks', id);
      return doc === undefined ? undefined : parsed(doc).text;
    },
  };
}

function hasTable(db: Connection, name: string): boolean {
  return db.get(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`, [name]) !== undefined;
}
