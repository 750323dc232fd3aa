import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import type { PublicationSummary } from '@commonplace/proto/resources/v1/resource.js';
import type { Node } from '../domain/node.js';
import type { Arrivals } from '../nodes/arrivals.js';
import type { PlaceOfPurge } from '../nodes/jobs.js';
import type { Shift } from '../nodes/shifts.js';
import type { AccessSubject } from '../policy.js';
import type { SharingParts } from '../sharing/parts.js';
import type { SnapshotParts } from '../snapshots/parts.js';
import type { TagParts } from '../tags/parts.js';

/** Holds what the commands and queries of the tree depend on. */
export interface TreeParts extends SharingParts, TagParts, SnapshotParts {
  readonly shifts: Collection<Shift>;
  readonly arrivals: Collection<Arrivals>;
  /** Callbacks of the features above the tree, which run when nodes are purged. */
  readonly forgetters: readonly Forget[];
  /** Returns whether a running copy still has to read one of the nodes that meet a condition; they are purged later. */
  readonly isCopyAwaited: (place: PlaceOfPurge, meets: (node: Node) => boolean) => Promise<boolean>;
  readonly publicationSummaries: PublicationSummaries;
}

/** Deletes what a feature stores about purged nodes, in the unit of work that deletes them. */
type Forget = (work: UnitOfWork, nodes: readonly Node[]) => Promise<void>;

/** Returns the publication summaries of resources, by resource id. */
type PublicationSummaries = (
  nodes: readonly Node[],
  subject: AccessSubject,
) => Promise<ReadonlyMap<string, PublicationSummary>>;
