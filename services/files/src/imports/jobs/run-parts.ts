import type { UnitOfWork } from '@commonplace/kit/store';
import type { FileSummary } from '@commonplace/proto/resources/v1/resource.js';
import type { NewBytes } from '../../storage/add-version.js';
import type { Intent } from '../../storage/records.js';
import type { OpenBundle } from '../bundle/zip.js';
import type { ImportFault } from '../sources/port.js';
import type { ImportRecord } from '../stores/records.js';
import type { ExistingItems } from './existing.js';
import type { Items } from './items.js';

/** Holds what one run of an import works with. */
export interface Run {
  /** The record as it was when the run began. */
  readonly record: ImportRecord;
  readonly bundle: OpenBundle;
  readonly items: Items;
  readonly existing: ExistingItems;
  readonly files: Files;
  /** Members of the workspace by the lower-case names and addresses that identify them in the source. */
  readonly users: ReadonlyMap<string, { readonly id: string; readonly name: string }>;
  readonly place: Place;
  /** Returns whether a fault ends the whole import. */
  isFatal(fault: ImportFault): boolean;
  entryBytes(path: string): number;
}

/** Describes where the top-level items of a source are created. */
export interface Place {
  /** Undefined for the root of the workspace. */
  readonly parentId: string | undefined;
  /** Whether each top-level item is restricted, because no common folder could be. */
  readonly restrictEach: boolean;
}

/** Describes a file whose bytes are stored but which has no version yet. */
export interface PreparedFile {
  readonly id: string;
  readonly summary: FileSummary;
  readonly revision: string;
  /** Absent when an earlier attempt has created the file. */
  readonly fresh?: { readonly bytes: NewBytes; readonly intent: Intent };
}

export interface Files {
  /** Stores the bytes of an item. Its node has to be created before the bytes become a version. */
  prepare(run: Run, seq: number): Promise<PreparedFile>;
  /** Makes the bytes of files whose nodes exist their versions, in this unit of work. */
  keep(work: UnitOfWork, run: Run, files: readonly PreparedFile[]): Promise<void>;
  /** Starts extracting text; called after the unit of work has committed. */
  kept(run: Run, files: readonly PreparedFile[]): void;
  /** Deletes the bytes of files that got no node. */
  drop(run: Run, files: readonly PreparedFile[]): Promise<void>;
}
