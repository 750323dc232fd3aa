import type { Collection } from '@commonplace/kit/store';
import type { CommentParts } from '../comments/parts.js';
import type { TreeParts } from '../tree/parts.js';
import type { CopyPiece } from './records.js';

/** Holds what copies depend on. */
export interface CopyParts extends TreeParts, CommentParts {
  readonly copyPieces: Collection<CopyPiece>;
}
