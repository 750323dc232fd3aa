import type { Collection } from '@commonplace/kit/store';
import type { ContentKinds } from '../kinds.js';
import type { Parts } from '../parts.js';
import type { Comment, Thread } from './records.js';

/** Holds what comments depend on. */
export interface CommentParts extends Parts {
  readonly kinds: ContentKinds;
  readonly comments: Collection<Comment>;
  readonly threads: Collection<Thread>;
}
