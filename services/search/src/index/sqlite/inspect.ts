import type { EntryState } from '../port.js';
import type { IndexFile } from './file.js';
import { TENANT_ROWS } from './schema.js';

/** A question about the entries of a file. */
export type Inspection =
  | { readonly about: 'counts' }
  | { readonly about: 'states'; readonly ids: readonly string[] }
  | { readonly about: 'idsOf'; readonly workspaceId: string }
  | { readonly about: 'sample'; readonly count: number };

/** Returns `[workspace, count][]`, `[id, state][]` or ids. */
export function inspect(file: IndexFile, question: Inspection): unknown {
  switch (question.about) {
    case 'counts':
      return [...file.workspaces].map(([id, { count }]) => [id, count]);
    case 'states':
      return statesOf(file, question.ids);
    case 'idsOf':
      return file.db
        .all('SELECT id FROM entries WHERE workspace_id = ?', [question.workspaceId.replaceAll('\0', ' ')])
        .map(([id]) => id);
    case 'sample':
      return sample(file, question.count);
  }
}

function statesOf({ db }: IndexFile, ids: readonly string[]): [string, EntryState][] {
  const rows = db.all(
    `SELECT e.id, e.workspace_id, e.boundary_id, e.version, e.content_version, e.updated_at
    FROM json_each(?) j CROSS JOIN entries e ON e.id = j.value`,
    [JSON.stringify(ids)],
  );
  return rows.map(([id, workspaceId, boundaryId, version, contentVersion, updatedAt]) => [
    String(id),
    {
      workspaceId: String(workspaceId),
      boundaryId: String(boundaryId),
      version: Number(version),
      contentVersion: Number(contentVersion),
      updatedAt: String(updatedAt),
    },
  ]);
}

/** Attempts per requested entry, because the rows of deleted entries are empty. */
const ATTEMPTS_PER_ENTRY = 4;

/** Picks tenants in proportion to their rows and rows at random; an empty row is replaced by the next entry after it. */
function sample({ db, byNumber, workspaces }: IndexFile, count: number): string[] {
  const entries = [...workspaces.values()].reduce((sum, workspace) => sum + workspace.count, 0);
  if (entries <= count) return db.all('SELECT id FROM entries', []).map(([id]) => String(id));
  const tenants = [...byNumber.values()];
  const rows = tenants.reduce((sum, { next }) => sum + next, 0);
  const ids = new Set<string>();
  for (let tries = 0; ids.size < count && tries < count * ATTEMPTS_PER_ENTRY; tries++) {
    let place = Math.floor(Math.random() * rows);
    for (const { number, next } of tenants) {
      if (place < next) {
        const row = number * TENANT_ROWS;
        const found = db.get('SELECT id FROM entries WHERE row >= ? AND row < ? ORDER BY row LIMIT 1', [
          row + place,
          row + next,
        ]);
        if (found !== undefined) ids.add(String(found[0]));
        break;
      }
      place -= next;
    }
  }
  return [...ids];
}
