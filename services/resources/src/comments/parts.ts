import type { Collection } from '@commonplace/kit/store';
import type { Hidden } from '../documents/kind/hidden.js';
import type { ContentKinds } from '../kinds.js';
import type { Parts } from '../parts.js';
import type { Bodies } from './bodies.js';
import type { Comment, Thread } from './records.js';

/** Holds what comments depend on. */
export interface CommentParts extends Parts {
  readonly kinds: ContentKinds;
  readonly comments: Collection<Comment>;
  readonly threads: Collection<Thread>;
  readonly bodies: Bodies;
  /** Finds the resources in bodies that must not be disclosed to their reader. */
  readonly hidden: Hidden;
}
