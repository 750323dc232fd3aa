import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Connection, openConnection } from '@commonplace/adapters/sqlite/file';
import type { Folded } from '@commonplace/kit/analysis';
import { maxEntries } from '@commonplace/kit/cache';
import { LRUCache } from 'lru-cache';
import type { Field } from '../../domain/narrowing.js';
import type { Patterns } from '../../domain/pattern.js';
import type { AdmittedCache } from './admitted.js';
import { type ChangeLog, createChangeLog } from './change-log.js';
import type { Identity } from './identities.js';
import { createKnownWords, type KnownWords } from './known-words.js';
import type { Lengths } from './lengths.js';
import { createKnownBlocks, type KnownBlocks } from './long-texts.js';
import { type HeldModel, loadModels } from './models.js';
import type { Needs } from './needs.js';
import type { Postings } from './postings.js';
import { SCHEMA, STAMP, TENANT_ROWS } from './schema.js';
import { bytesOf, type Slab } from './slab.js';

/** Id of the common tenant of all Personal workspaces. */
export const PERSONAL = '';

export interface Tenant {
  readonly id: string;
  readonly number: number;
  /** Its workspaces that have entries. */
  readonly workspaceIds: Set<string>;
  /** Number of rows that it has ever had, so that no row number is reused. */
  next: number;
  readonly changes: ChangeLog;
  /** Undefined until first used. */
  lengths?: Lengths;
}

interface WorkspaceCount {
  readonly tenant: Tenant;
  count: number;
  /** Sum of the lengths of all its entries. */
  length: number;
}

/** Holds the texts of an entry for highlighting. */
export interface StoredText {
  readonly id: string;
  readonly type: string;
  readonly texts: Readonly<Record<Field, string>>;
  readonly folded: Readonly<Record<Field, Folded>>;
}

/** Limits what is cached in memory. */
export interface Limits {
  /** Rows in cached lists of patterns, 12 bytes each. */
  readonly listed: number;
  /** Rows of a tenant up to which the admitted rows of its scopes are cached. */
  readonly scope: number;
  /** Bytes of vectors; those of a tenant with more are read from the file for each query. */
  readonly vectors: number;
}

export const DEFAULT_LIMITS: Limits = { listed: 3_000_000, scope: 1_000_000, vectors: 256 * 2 ** 20 };

/** One index file with its caches. */
export interface IndexFile {
  readonly path: string;
  readonly limits: Limits;
  readonly db: Connection;
  readonly tenants: Map<string, Tenant>;
  readonly byNumber: Map<number, Tenant>;
  /** Workspaces that have entries. */
  readonly workspaces: Map<string, WorkspaceCount>;
  /** Recently shown texts, by row. */
  readonly texts: LRUCache<number, StoredText>;
  /** Which entries rows hold. */
  readonly identities: Map<number, Identity>;
  readonly postings: LRUCache<string, Postings>;
  readonly admitted: AdmittedCache;
  /** Results of completing and correcting groups. */
  readonly expansions: LRUCache<string, Patterns>;
  /** Numbers of the vocabularies, by the id of their Org or Personal workspace. */
  readonly vocabularies: Map<string, number>;
  readonly knownWords: KnownWords;
  /** Blocks whose words the file is known to contain, by vocabulary. */
  readonly knownBlocks: KnownBlocks;
  /** Models with vectors in the file, by id. */
  readonly models: Map<string, HeldModel>;
  /** Entries without vectors, by id of the model. */
  readonly needs: Map<string, Needs>;
  /** Vectors in memory, by number of the model and of the tenant. */
  readonly slabs: LRUCache<string, Slab | 'too large'>;
  /** Whether everything has been indexed once. */
  complete: boolean;
}

/** UTF-16 units of cached text, which take about twice as many bytes. */
const MAX_CACHED_TEXT_UNITS = 16_000_000;
const MAX_CACHED_EXPANSIONS = 5000;
/** Bytes of cached sets of admitted rows. */
const MAX_CACHED_ADMITTED_BYTES = 20_000_000;

/**
 * Opens an index file. A file that is missing, damaged or of another version is replaced by an empty, incomplete one.
 */
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
    // Everything in an unreadable file can be indexed again.
  }
  db?.close();
  return undefined;
}

/**
 * Opens what an index of another version has left: its vectors, which the new index reuses for unchanged texts. Returns
 * undefined when there are none or they are unreadable. Call it before opening the new file.
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
    // A file without readable vectors in the present format is useless.
  }
  db?.close();
  removeIndexFile(aside);
  return undefined;
}

function formerPath(path: string): string {
  return `${path}.former`;
}

/** Checks whether a file is an index of another version, and if so writes its write-ahead log to it. */
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
      maxSize: MAX_CACHED_TEXT_UNITS,
      sizeCalculation: ({ texts }) => 100 + 2 * (texts.name.length + texts.text.length + texts.comments.length),
    }),
    identities: new Map(),
    postings: new LRUCache({
      maxSize: limits.listed + 1,
      sizeCalculation: ({ offsets }) => 20 + offsets.length,
    }),
    admitted: new LRUCache({ maxSize: MAX_CACHED_ADMITTED_BYTES, sizeCalculation: ({ bits }) => 1000 + bits.length }),
    expansions: new LRUCache(maxEntries(MAX_CACHED_EXPANSIONS)),
    vocabularies: new Map(),
    knownWords: createKnownWords(),
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

/** Reloads the in-memory state of a file after a failed write. */
export function reload(file: IndexFile): void {
  const { db, tenants, byNumber, workspaces, texts, knownWords, expansions, postings, admitted } = file;
  for (const kept of [texts, knownWords, expansions, postings, admitted, tenants, byNumber, workspaces]) kept.clear();
  for (const kept of [file.models, file.needs, file.slabs, file.knownBlocks, file.vocabularies]) kept.clear();
  file.identities.clear();
  for (const [number, id] of vocabulariesIn(db)) file.vocabularies.set(id, number);
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

/** Returns numbers and ids of the vocabularies; none in a file of a version that had no such table. */
function vocabulariesIn(db: Connection): [number, string][] {
  const has = db.get("SELECT 1 FROM sqlite_schema WHERE name = 'vocabularies'") !== undefined;
  const rows = has ? db.all('SELECT number, id FROM vocabularies') : [];
  return rows.map(([number, id]) => [Number(number), String(id)]);
}

export function createTenant(id: string, number: number, next = 0): Tenant {
  return { id, number, next, workspaceIds: new Set(), changes: createChangeLog() };
}

/** Returns the number of the tenant that a row belongs to. */
export function tenantOf(row: number): number {
  return Math.floor(row / TENANT_ROWS);
}

/** Records that everything has been indexed. */
export function markComplete(file: IndexFile): void {
  file.db.run('INSERT OR REPLACE INTO facts VALUES (?, ?)', ['complete', '1']);
  file.complete = true;
}

/** Runs writes in one transaction, which is durable when this returns and rolled back when it throws. */
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

/** Deletes a closed index file and its companion files. */
export function removeIndexFile(path: string): void {
  for (const suffix of ['-wal', '-shm', '']) rmSync(path + suffix, { force: true });
}

/** Replaces one file by a closed, complete one. A crash leaves either the old or the new file. */
export function replaceIndexFile(path: string, by: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  renameSync(by, path);
  removeIndexFile(by);
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
}
