import type { Quota } from '@commonplace/kit/quota';
import type { Collection, Collections } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { Clients } from '@commonplace/platform/runtime';
import type { UploadParts } from '../uploads/parts.js';
import type { ArchiveLimits } from './bundle/limits.js';
import { type ImportRecord, itemCollection, removalCollection, reportCollection } from './stores/records.js';

/** The collections of imports that no queue opens. */
export const IMPORT_RECORDS = {
  importItems: itemCollection,
  importReports: reportCollection,
  importRemovals: removalCollection,
};

/** The contracts of other services that imports call. */
export const IMPORT_PEERS = {
  auth: contracts.auth,
  directory: contracts.directory,
  resources: contracts.resources,
  treeImports: contracts.treeImports,
};

/** Holds what imports depend on. */
export interface ImportParts extends UploadParts, Collections<typeof IMPORT_RECORDS>, Clients<typeof IMPORT_PEERS> {
  readonly imports: Collection<ImportRecord>;
  readonly memberships: MembershipCache;
  readonly importQuotas: ImportQuotas;
  /** Folder for temporarily unpacked files. */
  readonly scratch: string;
}

export function limitsOf({ settings }: Pick<UploadParts, 'settings'>): ArchiveLimits {
  return {
    archiveBytes: settings.importArchiveBytes,
    unpackedBytes: settings.importUnpackedBytes,
    entryBytes: settings.fileBytes,
    entries: settings.importEntries,
    ratio: settings.importRatio,
    nesting: settings.importNesting,
    pathLength: settings.importPathLength,
  };
}

/** Limits the number of imports of each workspace. */
export interface ImportQuotas {
  /** Imports that wait for bytes or for their turn. */
  readonly waiting: Quota;
  readonly running: Quota;
}
