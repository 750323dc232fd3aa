import type { Quota } from '@commonplace/kit/quota';
import type { Client } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { ResourceService } from '@commonplace/proto/resources/v1/resource_service.js';
import type { TreeImportService } from '@commonplace/proto/resources/v1/tree_import_service.js';
import type { UploadParts } from '../uploads/parts.js';
import type { ArchiveLimits } from './bundle/limits.js';
import type { ImportRecord, ItemRecord, RemovalRecord, ReportRecord } from './stores/records.js';

/** Holds what imports depend on. */
export interface ImportParts extends UploadParts {
  readonly imports: Collection<ImportRecord>;
  readonly importItems: Collection<ItemRecord>;
  readonly importReports: Collection<ReportRecord>;
  readonly importRemovals: Collection<RemovalRecord>;
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
