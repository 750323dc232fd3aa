import type { Quota } from '@commonplace/kit/quota';
import type { Client } from '@commonplace/kit/rpc';
import type { Collection, Collections } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { ResourceService } from '@commonplace/proto/resources/v1/resource_service.js';
import type { TreeImportService } from '@commonplace/proto/resources/v1/tree_import_service.js';
import type { UploadParts } from '../uploads/parts.js';
import type { ArchiveLimits } from './bundle/limits.js';
import { type ImportRecord, itemCollection, removalCollection, reportCollection } from './stores/records.js';

/** The collections of imports that no queue opens. */
export const IMPORT_RECORDS = {
  importItems: itemCollection,
  importReports: reportCollection,
  importRemovals: removalCollection,
};

/** Holds what imports depend on. */
export interface ImportParts extends UploadParts, Collections<typeof IMPORT_RECORDS> {
  readonly imports: Collection<ImportRecord>;
  readonly treeImports: Client<TreeImportService>;
  readonly resources: Client<ResourceService>;
  readonly auth: Client<AuthService>;
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
