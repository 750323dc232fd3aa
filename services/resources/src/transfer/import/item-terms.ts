import type { Actor } from '@commonplace/kit/auth';
import type { AccessSubject } from '../../policy.js';
import type { ImportHomes } from './homes.js';
import type { ImportPeople } from './people.js';
import type { TagIds } from './tags.js';

/** Options and caches that all items of one call share. */
export interface ItemTerms {
  readonly subject: AccessSubject;
  readonly workspaceId: string;
  readonly importId: string | undefined;
  /** Actor named as the creator of items that name no creator. */
  readonly label: Actor;
  /** Whether an administrator imports, so that authors and times of other people are kept. */
  readonly administers: boolean;
  readonly homes: ImportHomes;
  readonly tags: TagIds;
  readonly people: ImportPeople;
  /** External ids that other resources have; items are imported without them. */
  readonly taken: Set<string>;
}
