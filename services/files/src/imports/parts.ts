import type { MembershipCache } from '@commonplace/kit/memberships';
import type { Client } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { ResourceService } from '@commonplace/proto/resources/v1/resource_service.js';
import type { TreeImportService } from '@commonplace/proto/resources/v1/tree_import_service.js';
import type { Parts } from '../parts.js';
import type { ArchiveLimits } from './bundle/limits.js';
import type { Files } from './jobs/files.js';
import type { ItemRecord, RemovalRecord, ReportRecord } from './stores/records.js';

/** What imports stand on. */
export interface ImportParts extends Parts {
  readonly importItems: Collection<ItemRecord>;
  readonly importReports: Collection<ReportRecord>;
  readonly importRemovals: Collection<RemovalRecord>;
  readonly treeImports: Client<TreeImportService>;
  readonly resources: Client<ResourceService>;
  readonly auth: Client<AuthService>;
  readonly memberships: MembershipCache;
  readonly importFiles: Files;
  /** A folder for what is unpacked meanwhile. */
  readonly scratch: string;
}

export function limitsOf({ settings }: Pick<Parts, 'settings'>): ArchiveLimits {
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
