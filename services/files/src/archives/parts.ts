import type { Client } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { TreeExportService } from '@commonplace/proto/resources/v1/tree_export_service.js';
import type { Tokens } from '../domain/tokens.js';
import type { StorageParts } from '../storage/parts.js';
import type { ArchiveRecord, StepRecord } from './records.js';

/** Holds what exports depend on. */
export interface ArchiveParts
  extends Pick<StorageParts, 'settings' | 'store' | 'bytes' | 'files' | 'versions' | 'usage' | 'systemCall' | 'log'> {
  readonly archives: Collection<ArchiveRecord>;
  readonly archiveSteps: Collection<StepRecord>;
  readonly treeExports: Client<TreeExportService>;
  readonly tokens: Tokens;
  readonly auth: Client<AuthService>;
}
