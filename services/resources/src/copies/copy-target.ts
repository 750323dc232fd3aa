import type { Node, Place } from '../domain/node.js';
import type { Batch } from '../tree/trash.js';

/** A node, and the place, name and rights of its copy. */
export interface CopyTarget {
  readonly from: Node;
  readonly id: string;
  readonly place: Place;
  readonly parentKey: string;
  readonly name: string;
  readonly position: string;
  readonly restricted: boolean;
  /** Whether the grants of the source are copied. */
  readonly granted: boolean;
  readonly attachment: boolean;
  /** The batch that the copy joins in the trash, if its parent is there. */
  readonly batch?: Batch | undefined;
}
