import type { Collection } from '@commonplace/kit/store';
import type { TagUsage } from '../nodes/tag-usage.js';
import type { Parts } from '../parts.js';
import type { Tags } from './records.js';

/** Holds what tags depend on. */
export interface TagParts extends Parts {
  readonly tags: Tags;
  readonly usage: Collection<TagUsage>;
}
