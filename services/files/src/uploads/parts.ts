import type { TenantGuard } from '@commonplace/kit/fetch';
import type { Queue } from '@commonplace/kit/jobs';
import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import type { StoredBytes } from '../blobs/port.js';
import type { Tokens } from '../domain/tokens.js';
import type { SweepParts } from '../storage/parts.js';
import type { Fault, Receipt, Upload } from '../storage/records.js';
import type { TextParts } from '../texts/parts.js';

/** Holds what uploads depend on. */
export interface UploadParts extends TextParts {
  readonly uploads: Collection<Upload>;
  readonly receipts: Collection<Receipt>;
  readonly uploadQueue: Pick<Queue<Upload>, 'runNow'>;
  readonly tokens: Tokens;
  /** Fetches URLs that users have given. */
  readonly guard: TenantGuard;
  readonly importUploads: ImportUploads;
}

/** Receives the outcome of uploads that imports wait for. */
export interface ImportUploads {
  /** Hands an import the bytes that it waits for. Returns false when it no longer waits. */
  receive(work: UnitOfWork, upload: Upload, blobId: string, stored: StoredBytes, reserved: number): Promise<boolean>;
  /** Marks an import as failed because its upload failed or expired. */
  fail(work: UnitOfWork, upload: Upload, fault: Fault): Promise<void>;
}

/** Holds what cleaning up after uploads depends on. */
export interface SweeperParts extends UploadParts, SweepParts {}
