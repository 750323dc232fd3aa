import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
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

export interface ItemCounts {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Stores an import and its progress. */
export interface ImportRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** Empty for a Personal workspace. */
  readonly orgId: string;
  readonly parentId?: string;
  /** Name as in the API: `markdown_zip`. */
  readonly sourceType: string;
  readonly name: string;
  /** The name, folded for searches. */
  readonly nameFold: string;
  /** Whether the request named it; then even a single file gets a folder of its own. */
  readonly named: boolean;
  /** Original file name of the source, if known. */
  readonly fileName?: string;
  readonly status: ImportState;
  readonly phase?: Phase;
  readonly done: ItemCounts;
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
  /** Blob with the bytes of the source; absent until they have arrived. */
  readonly blobId?: string;
  /** Bytes of the source that are counted against the quota. */
  readonly heldBytes?: number | undefined;
  /** URL that the bytes are fetched from. */
  readonly url?: string;
  /** Source type that the bytes of a `url` were detected as. */
  readonly readAs?: string;
  /** Whether all entries have been unpacked once and have the declared sizes. */
  readonly verified?: boolean;
  /** Whether its items have been stored. */
  readonly planned?: boolean;
  readonly userId: string;
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly queuedAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /** When a worker may claim it, or the end of the current lease. */
  readonly leaseUntil?: string;
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
    DEAD_INDEX,
  ],
};

export const importQueue: QueueSpec<ImportRecord> = {
  name: 'files.imports',
  collection: importCollection,
  due: 'leaseUntil',
  waiting: { field: 'status', values: ['queued', 'running'] },
  describe: ({ sourceType, name, workspaceId }) => `import of ${sourceType} “${name}” into ${workspaceId}`,
};

export type ItemState = 'pending' | 'created' | 'updated' | 'skipped' | 'failed';

/** Stores one thing in a source and its result. Its id is derived from the import's id and its path. */
export interface ItemRecord extends StoredRecord {
  readonly tenant: string;
  readonly importId: string;
  /** Its position in the source. */
  readonly seq: number;
  readonly path: string;
  /** Title, when its path means nothing to people. */
  readonly title?: string;
  /** Absent for an entry that is not imported. */
  readonly kind?: ItemKind;
  readonly externalId?: string;
  readonly status: ItemState;
  /** Attempt that produced this status; 0 before the first. */
  readonly attempt: number;
  readonly resourceId?: string;
  readonly code?: string;
  readonly message?: string;
  readonly retryable?: boolean;
  /** Number of rows, for a table. */
  readonly rows?: number;
  /** Number of links that were rewritten. */
  readonly links?: number;
  /** Items that these links lead to, by `seq`. */
  readonly targets?: readonly number[];
  /** Links without a target, as they are written in the source. */
  readonly broken?: readonly string[];
}

export const itemCollection: CollectionSpec<ItemRecord> = {
  name: 'import_items',
  indexes: [{ fields: ['importId', 'seq'] }, { fields: ['importId', 'status', 'seq'] }],
};

/** Stores the report of an import, in Markdown. Its id is the import's. */
export interface ReportRecord extends StoredRecord {
  readonly tenant: string;
  readonly text: string;
}

export const reportCollection: CollectionSpec<ReportRecord> = { name: 'import_reports', indexes: [] };

/** Stores a removed import whose items and bytes are still to be deleted. Its id is the import's. */
export interface RemovalRecord extends JobRecord {
  readonly tenant: string;
  readonly blobId?: string;
  readonly heldBytes?: number | undefined;
  /** When a worker may claim it: the time of creation, or the end of the current lease. */
  readonly createdAt: string;
}

export const removalCollection: CollectionSpec<RemovalRecord> = {
  name: 'import_removals',
  indexes: [{ fields: ['createdAt'] }, DEAD_INDEX],
};

export const removalQueue: QueueSpec<RemovalRecord> = {
  name: 'files.import_removals',
  collection: removalCollection,
  due: 'createdAt',
  describe: ({ id, tenant }) => `removal of what import ${id} of ${tenant} has left`,
  keptBecause: () => 'the records and bytes of a removed import would stay for ever',
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
export const NOTHING_DONE: ItemCounts = { total: 0, succeeded: 0, failed: 0, skipped: 0 };

const ACTIVE: ReadonlySet<ImportState> = new Set(['pending_upload', 'queued', 'running']);

/** Returns whether an import has not finished. */
export function isActive({ status }: Pick<ImportRecord, 'status'>): boolean {
  return ACTIVE.has(status);
}
