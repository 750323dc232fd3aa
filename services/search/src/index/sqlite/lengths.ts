import { type IndexFile, type Tenant, tenantOf } from './file.js';
import { numbersIn } from './numbers.js';
import { TENANT_ROWS } from './schema.js';

/** Holds the length and the workspace of each row of a tenant, by offset from its first row. */
export interface Lengths {
  /** Lengths of name and text, as `entries.length`. */
  terms: Uint32Array;
  /** Numbers of workspaces in `workspaces`, from 1 on; 0 for deleted rows. */
  places: Uint32Array;
  readonly workspaces: Map<string, number>;
}

/** Returns the lengths of a tenant's rows. They are read from the file on first use; writes keep them up to date. */
export function lengthsOf(file: IndexFile, tenant: Tenant): Lengths {
  tenant.lengths ??= load(file, tenant);
  grow(tenant.lengths, tenant.next);
  return tenant.lengths;
}

function load({ db }: IndexFile, { number, next }: Tenant): Lengths {
  const lengths = { terms: new Uint32Array(next), places: new Uint32Array(next), workspaces: new Map() };
  const first = number * TENANT_ROWS;
  const rows = db.all(
    `SELECT workspace_id, count(*), group_concat((row - ?) || ' ' || length, ' ') FROM entries
    WHERE row BETWEEN ? AND ? GROUP BY workspace_id`,
    [first, first, first + TENANT_ROWS - 1],
  );
  for (const [workspaceId, count, text] of rows) {
    const place = placeOf(lengths, String(workspaceId));
    const numbers = numbersIn(String(text), 2 * Number(count));
    for (let i = 0; i < numbers.length; i += 2) {
      lengths.places[numbers[i] as number] = place;
      lengths.terms[numbers[i] as number] = numbers[i + 1] as number;
    }
  }
  return lengths;
}

function placeOf({ workspaces }: Lengths, workspaceId: string): number {
  const place = workspaces.get(workspaceId) ?? workspaces.size + 1;
  workspaces.set(workspaceId, place);
  return place;
}

function grow(lengths: Lengths, rows: number): void {
  if (lengths.terms.length >= rows) return;
  const { terms, places } = lengths;
  const room = Math.ceil(rows * 1.2) + 1000;
  lengths.terms = new Uint32Array(room);
  lengths.places = new Uint32Array(room);
  lengths.terms.set(terms);
  lengths.places.set(places);
}

/** Records the new state of a row; without a workspace the row is deleted. */
export function noteLength(file: IndexFile, row: number, workspaceId: string | undefined, length: number): void {
  const tenant = file.byNumber.get(tenantOf(row));
  if (tenant?.lengths === undefined) return;
  grow(tenant.lengths, tenant.next);
  tenant.lengths.terms[row % TENANT_ROWS] = length;
  tenant.lengths.places[row % TENANT_ROWS] = workspaceId === undefined ? 0 : placeOf(tenant.lengths, workspaceId);
}
