import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Connection, openConnection } from '@commonplace/kit/store/sqlite';
import { LRUCache } from 'lru-cache';
import type { Folded } from '../../domain/fold.js';
import type { Patterns } from '../../domain/pattern.js';
import type { Field } from '../port.js';
import type { AdmittedCache } from './admitted.js';
import { type ChangeLog, createChangeLog } from './change-log.js';
import type { Lengths } from './lengths.js';
import { createKnownBlocks, type KnownBlocks } from './long-texts.js';
import { type HeldModel, loadModels } from './models.js';
import type { Needs } from './needs.js';
import type { Postings } from './postings.js';
import { SCHEMA, STAMP, TENANT_ROWS } from './schema.js';
import { bytesOf, type Slab } from './slab.js';

export interface Tenant {
  readonly id: string;
  readonly number: number;
  /** Those of its workspaces that have entries. */
  readonly workspaceIds: Set<string>;
  /** How many rows it has had, so that no row is used twice. */
  next: number;
  readonly changes: ChangeLog;
  /** Undefined until they are asked for. */
  lengths?: Lengths;
}

export interface WorkspaceCount {
  readonly tenant: Tenant;
  count: number;
  /** Terms of names and texts of all its entries. */
  length: number;
}

/** An entry as highlights need it. */
export interface StoredText {
  readonly id: string;
  readonly type: string;
  readonly texts: Readonly<Record<Field, string>>;
  readonly folded: Readonly<Record<Field, Folded>>;
}

/** How much is kept in memory to answer from. */
export interface Limits {
  /** Rows in the list of a pattern; longer ones are left to the engine. */
  readonly list: number;
  /** Rows in the list of a pattern that most entries have; longer ones are weighed by names alone. */
  readonly common: number;
  /** Rows of a tenant for whose scopes the admitted rows are kept. */
  readonly scope: number;
  /** Bytes of vectors; those of a tenant with more are read from the file by each question. */
  readonly vectors: number;
}

/** A list costs 8 bytes a row, a kept scope 1. */
export const DEFAULT_LIMITS: Limits = { list: 100_000, common: 4000, scope: 1_000_000, vectors: 256 * 2 ** 20 };

/** One index file, with what is known of it in memory. */
export interface IndexFile {
  readonly path: string;
  readonly limits: Limits;
  readonly db: Connection;
  readonly tenants: Map<string, Tenant>;
  readonly byNumber: Map<number, Tenant>;
  /** Workspaces that have entries. */
  readonly workspaces: Map<string, WorkspaceCount>;
  /** Texts that were shown lately, by row. */
  readonly texts: LRUCache<number, StoredText>;
  readonly postings: LRUCache<string, Postings | 'too long'>;
  readonly admitted: AdmittedCache;
  /** What groups were completed and corrected to. */
  readonly expansions: LRUCache<string, Patterns>;
  /** Words that are in the file for sure: `tenant word`. */
  readonly knownWords: LRUCache<string, true>;
  /** Their words are in the file for sure. */
  readonly knownBlocks: KnownBlocks;
  /** Models that there are vectors of, by id. */
  readonly models: Map<string, HeldModel>;
  /** What lacks vectors, by id of the model. */
  readonly needs: Map<string, Needs>;
  /** Vectors in memory, by number of the model and of the tenant. */
  readonly slabs: LRUCache<string, Slab | 'too large'>;
  /** Everything was put in once. */
  complete: boolean;
}

/** Units of text kept in memory: about twice as many bytes. */
const KEPT_TEXT = 16_000_000;
const KEPT_WORDS = 200_000;
const KEPT_EXPANSIONS = 5000;
/** Rows in lists kept in memory, 8 bytes each. */
const KEPT_POSTINGS = 4_000_000;
/** Bytes of admitted rows kept in memory. */
const KEPT_ADMITTED = 20_000_000;

/** Opens an index file. One that is missing, damaged or made by another version is made anew, and is not complete. */
export function openIndexFile(path: string, limits: Limits = DEFAULT_LIMITS): IndexFile {
  const opened = openAsIs(path, limits);
  if (opened !== undefined) return opened;
  removeIndexFile(path);
  const db = openConnection(path);
  inTransaction(db, () => {
    db.exec(SCHEMA);
    db.run('INSERT INTO facts VALUES (?, ?)', ['stamp', STAMP]);
  });
  return load(path, limits, db);
}

function openAsIs(path: string, limits: Limits): IndexFile | undefined {
  let db: Connection | undefined;
  try {
    statSync(path);
    db = openConnection(path);
    if (db.get('SELECT value FROM facts WHERE name = ?', ['stamp'])?.[0] === STAMP) return load(path, limits, db);
  } catch {
    // A file that can't be read holds nothing that can't be had again.
  }
  db?.close();
  return undefined;
}

/**
 * What an index of another version leaves behind: its vectors, which the new one takes over where texts are the same.
 * Undefined where there are none, or none that can be read. Asked for before the new file is opened.
 */
export function openFormerFile(path: string, limits: Limits = DEFAULT_LIMITS): IndexFile | undefined {
  const aside = formerPath(path);
  if (isOfOtherVersion(path)) {
    removeIndexFile(aside);
    renameSync(path, aside);
  }
  if (!existsSync(aside)) return undefined;
  let db: Connection | undefined;
  try {
    db = openConnection(aside);
    const file = load(aside, limits, db);
    if (file.models.size > 0) return file;
  } catch {
    // What has no vectors as they are now is of no use.
  }
  db?.close();
  removeIndexFile(aside);
  return undefined;
}

function formerPath(path: string): string {
  return `${path}.former`;
}

/** Whether a file is an index, and not one of this version; folds its write-ahead log into it then. */
function isOfOtherVersion(path: string): boolean {
  if (!existsSync(path)) return false;
  let db: Connection | undefined;
  try {
    db = openConnection(path);
    const stamp = db.get('SELECT value FROM facts WHERE name = ?', ['stamp'])?.[0];
    if (stamp === undefined || stamp === STAMP) return false;
    db.get('PRAGMA wal_checkpoint(TRUNCATE)');
    return true;
  } catch {
    return false;
  } finally {
    db?.close();
  }
}

function load(path: string, limits: Limits, db: Connection): IndexFile {
  const file: IndexFile = {
    path,
    limits,
    db,
    tenants: new Map(),
    byNumber: new Map(),
    workspaces: new Map(),
    texts: new LRUCache({
      maxSize: KEPT_TEXT,
      sizeCalculation: ({ texts }) => 100 + 2 * (texts.name.length + texts.text.length + texts.comments.length),
    }),
    postings: new LRUCache({
      maxSize: KEPT_POSTINGS,
      sizeCalculation: (kept) => 20 + (kept === 'too long' ? 0 : kept.offsets.length),
    }),
    admitted: new LRUCache({ maxSize: KEPT_ADMITTED, sizeCalculation: ({ bits }) => 1000 + bits.length }),
    expansions: new LRUCache({ max: KEPT_EXPANSIONS }),
    knownWords: new LRUCache({ max: KEPT_WORDS }),
    knownBlocks: createKnownBlocks(),
    models: new Map(),
    needs: new Map(),
    slabs: new LRUCache({
      maxSize: limits.vectors + 1,
      sizeCalculation: (slab) => (slab === 'too large' ? 1 : bytesOf(slab)),
    }),
    complete: db.get('SELECT value FROM facts WHERE name = ?', ['complete']) !== undefined,
  };
  reload(file);
  return file;
}

/** Reads anew what is known of a file in memory; for after a write that failed. */
export function reload(file: IndexFile): void {
  const { db, tenants, byNumber, workspaces, texts, knownWords, expansions, postings, admitted } = file;
  for (const kept of [texts, knownWords, expansions, postings, admitted, tenants, byNumber, workspaces]) kept.clear();
  for (const kept of [file.models, file.needs, file.slabs, file.knownBlocks]) kept.clear();
  for (const model of loadModels(db)) file.models.set(model.about.id, model);
  for (const [number, id, next] of db.all('SELECT number, id, next FROM tenants')) {
    const tenant = createTenant(String(id), Number(number), Number(next));
    tenants.set(tenant.id, tenant);
    byNumber.set(tenant.number, tenant);
  }
  const counts = db.all('SELECT workspace_id, count(*), sum(length), min(row) FROM entries GROUP BY workspace_id');
  for (const [id, count, length, row] of counts) {
    const tenant = byNumber.get(tenantOf(Number(row)));
    if (tenant === undefined) continue;
    workspaces.set(String(id), { tenant, count: Number(count), length: Number(length) });
    tenant.workspaceIds.add(String(id));
  }
}

export function createTenant(id: string, number: number, next = 0): Tenant {
  return { id, number, next, workspaceIds: new Set(), changes: createChangeLog() };
}

/** The number of the tenant that a row belongs to. */
export function tenantOf(row: number): number {
  return Math.floor(row / TENANT_ROWS);
}

/** Notes that everything was put in. */
export function markComplete(file: IndexFile): void {
  file.db.run('INSERT OR REPLACE INTO facts VALUES (?, ?)', ['complete', '1']);
  file.complete = true;
}

/** Runs writes in one transaction: durable when this returns, undone when it throws. */
export function inTransaction(db: Connection, work: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    work();
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Removes a closed index file and what belongs to it. */
export function removeIndexFile(path: string): void {
  for (const suffix of ['-wal', '-shm', '']) rmSync(path + suffix, { force: true });
}

/** Puts a settled file in the place of another, so that a crash leaves the one or the other. */
export function replaceIndexFile(path: string, by: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  renameSync(by, path);
  removeIndexFile(by);
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
}
