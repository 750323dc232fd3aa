import type { Client } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { TreeExportService } from '@commonplace/proto/resources/v1/tree_export_service.js';
import type { Parts } from '../parts.js';
import type { ArchiveRecord, StepRecord } from './records.js';

/** What exports stand on. */
export interface ArchiveParts extends Parts {
  readonly archives: Collection<ArchiveRecord>;
  readonly archiveSteps: Collection<StepRecord>;
  readonly treeExports: Client<TreeExportService>;
  readonly auth: Client<AuthService>;
}
