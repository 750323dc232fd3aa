import type { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { IndexFile } from './file.js';

/** Describes which entry a row holds. */
export interface Identity {
  readonly id: string;
  readonly type: ResourceType;
}

/** Rows whose entries are kept in memory, some 150 bytes each. When there are more, all are dropped. */
const MAX_CACHED_IDENTITIES = 100_000;

/** Returns the entries of rows, in the same order; undefined for rows without an entry. */
export function identitiesOf({ db, identities }: IndexFile, rows: readonly number[]): (Identity | undefined)[] {
  const found = rows.map((row) => identities.get(row));
  const missing = rows.filter((_, i) => found[i] === undefined);
  if (missing.length === 0) return found;
  // One row with everything: the driver takes about as long for each row that it returns as for a lookup.
  const sql = `SELECT json_group_array(json_array(e.row, e.id, e.type))
    FROM json_each(?) j CROSS JOIN entries e ON e.row = j.value`;
  const [json] = db.get(sql, [JSON.stringify(missing)]) ?? [];
  if (identities.size + missing.length > MAX_CACHED_IDENTITIES) identities.clear();
  for (const [row, id, type] of JSON.parse(String(json)) as [number, string, ResourceType][]) {
    identities.set(row, { id, type });
  }
  return rows.map((row, i) => found[i] ?? identities.get(row));
}

/** Returns the rows of entries, by id. */
export function rowsOfIds({ db }: IndexFile, ids: readonly string[]): Map<string, number> {
  const sql =
    'SELECT json_group_array(json_array(e.id, e.row)) FROM json_each(?) j CROSS JOIN entries e ON e.id = j.value';
  const [json] = db.get(sql, [JSON.stringify(ids)]) ?? [];
  return new Map(JSON.parse(String(json)) as [string, number][]);
}
