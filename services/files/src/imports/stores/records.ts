import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { ItemKind } from '../sources/port.js';

export type ImportState =
  | 'pending_upload'
  | 'queued'
  | 'running'
  | 'completed'
  | 'completed_with_errors'
  | 'failed'
  | 'canceled';
export type Phase = 'upload' | 'scan' | 'parse' | 'create' | 'link' | 'index';
export type Conflict = 'skip' | 'rename' | 'update';

export interface ImportOptions {
  readonly csv?: {
    readonly delimiter?: string | undefined;
    readonly encoding?: string | undefined;
    readonly hasHeader?: boolean | undefined;
    readonly detectTypes?: boolean | undefined;
  };
  readonly splitHeadings?: boolean;
  readonly downloadRemoteImages?: boolean;
  readonly keepDates?: boolean;
  readonly userMap?: Readonly<Record<string, string>>;
}

export interface Counts {
  readonly documents: number;
  readonly tables: number;
  readonly rows: number;
  readonly files: number;
  readonly folders: number;
  readonly linksRewritten: number;
  readonly linksBroken: number;
  readonly usersMapped: number;
}

export interface Done {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
}

/** An import, and what is known of how far it is. */
export interface ImportRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** Empty for a Personal workspace. */
  readonly orgId: string;
  readonly parentId?: string;
  /** As the contract names it: `markdown_zip`. */
  readonly sourceType: string;
  readonly name: string;
  /** It was asked for by name: what is one file has a folder of its own, too. */
  readonly named: boolean;
  /** What the source was called, where anybody has said. */
  readonly fileName?: string;
  readonly status: ImportState;
  readonly phase?: Phase;
  readonly done: Done;
  readonly counts: Counts;
  readonly attempt: number;
  readonly scope: 'failed' | 'all';
  readonly rootResourceId?: string;
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
  readonly error?: { readonly code: string; readonly message: string; readonly retryable: boolean };
  readonly restricted: boolean;
  readonly access: 'inherit' | 'private';
  readonly conflict: Conflict;
  readonly options: ImportOptions;
  readonly dryRun: boolean;
  /** The bytes of the source; absent until they are there. */
  readonly blobId?: string;
  /** Where they are fetched from. */
  readonly url?: string;
  /** What the bytes of a `url` are read as. */
  readonly readAs?: string;
  /** All entries were looked through: none lies about its size. */
  readonly verified?: boolean;
  /** Its items are written down. */
  readonly planned?: boolean;
  readonly userId: string;
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly queuedAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /** A worker holds it until then. */
  readonly leaseUntil: string;
}

export const importCollection: CollectionSpec<ImportRecord> = {
  name: 'imports',
  indexes: [
    { fields: ['workspaceId', 'createdAt'] },
    { fields: ['workspaceId', 'status', 'createdAt'] },
    { fields: ['workspaceId', 'userId', 'createdAt'] },
    { fields: ['workspaceId', 'userId', 'status', 'createdAt'] },
    { fields: ['status', 'tenant', 'queuedAt'] },
    { fields: ['status', 'leaseUntil'] },
  ],
};

export type ItemState = 'pending' | 'created' | 'updated' | 'skipped' | 'failed';

/** One thing that a source holds, and what became of it. Its id is derived from the import's and its path. */
export interface ItemRecord extends StoredRecord {
  readonly tenant: string;
  readonly importId: string;
  /** Its place in the source. */
  readonly seq: number;
  readonly path: string;
  /** Absent for what becomes nothing. */
  readonly kind?: ItemKind;
  readonly externalId?: string;
  readonly status: ItemState;
  /** The attempt that has brought it there; 0 until one has. */
  readonly attempt: number;
  readonly resourceId?: string;
  readonly code?: string;
  readonly message?: string;
  readonly retryable?: boolean;
  /** Of a table. */
  readonly rows?: number;
  /** Links that were rewritten. */
  readonly links?: number;
  /** Which items they lead to, by `seq`. */
  readonly targets?: readonly number[];
  /** Links that lead nowhere, as they stand in the source. */
  readonly broken?: readonly string[];
}

export const itemCollection: CollectionSpec<ItemRecord> = {
  name: 'import_items',
  indexes: [{ fields: ['importId', 'seq'] }, { fields: ['importId', 'status', 'seq'] }],
};

/** What an import has to report, in Markdown. Its id is the import's. */
export interface ReportRecord extends StoredRecord {
  readonly tenant: string;
  readonly text: string;
}

export const reportCollection: CollectionSpec<ReportRecord> = { name: 'import_reports', indexes: [] };

/** An import that was removed, whose items and bytes are to go. Its id is the import's. */
export interface RemovalRecord extends StoredRecord {
  readonly tenant: string;
  readonly blobId?: string;
  readonly createdAt: string;
}

export const removalCollection: CollectionSpec<RemovalRecord> = {
  name: 'import_removals',
  indexes: [{ fields: ['createdAt'] }],
};

export const NO_COUNTS: Counts = {
  documents: 0,
  tables: 0,
  rows: 0,
  files: 0,
  folders: 0,
  linksRewritten: 0,
  linksBroken: 0,
  usersMapped: 0,
};
export const NOTHING_DONE: Done = { total: 0, succeeded: 0, failed: 0, skipped: 0 };

const ACTIVE: ReadonlySet<ImportState> = new Set(['pending_upload', 'queued', 'running']);

/** Whether an import has not come to its end. */
export function isActive({ status }: Pick<ImportRecord, 'status'>): boolean {
  return ACTIVE.has(status);
}
