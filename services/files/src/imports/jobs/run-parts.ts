import type { OpenBundle } from '../bundle/zip.js';
import type { ImportFault } from '../sources/port.js';
import type { ImportRecord } from '../stores/records.js';
import type { Existing } from './existing.js';
import type { Files } from './files.js';
import type { Items } from './items.js';

/** What one run of an import works with. */
export interface Run {
  /** As it was when the run began. */
  readonly record: ImportRecord;
  readonly bundle: OpenBundle;
  readonly items: Items;
  readonly existing: Existing;
  readonly files: Files;
  /** Whom names and addresses of the source stand for, by their lower case. */
  readonly users: ReadonlyMap<string, { readonly id: string; readonly name: string }>;
  readonly place: Place;
  /** Whether a fault ends the whole import. */
  isFatal(fault: ImportFault): boolean;
  entryBytes(path: string): number;
}

/** Where the top of a source is put. */
export interface Place {
  /** The workspace's root when absent. */
  readonly parentId: string | undefined;
  /** Nothing holds them all that could be restricted: each of them is. */
  readonly restrictEach: boolean;
}
