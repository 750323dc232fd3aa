import type { Collection } from '@commonplace/kit/store';
import type { Deriver } from '../documents/kind/deriver.js';
import type { ContentKinds } from '../kinds.js';
import type { Parts } from '../parts.js';
import type { SnapshotRecord } from './records.js';

/** Holds what contents and their snapshots depend on. */
export interface SnapshotParts extends Parts {
  readonly kinds: ContentKinds;
  readonly deriver: Deriver;
  readonly snapshots: Collection<SnapshotRecord>;
}
