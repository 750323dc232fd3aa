import type { AccessibleResource, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { Search } from '../domain/request.js';
import type { Hit, IndexAnswer, NearHit } from '../index/port.js';

/** What is searched for: the request, and what the caller may find. */
export interface Question {
  readonly asked: Search;
  readonly filter: SearchFilter;
}

/** A place in an answer. */
export interface Found {
  readonly resource: AccessibleResource;
  readonly score: number;
  readonly keyword?: number | undefined;
  readonly semantic?: number | undefined;
  /** How its words match, where they do. */
  readonly hit?: Hit | undefined;
  /** The passage nearest in meaning, where it is known. */
  readonly chunk?: NearHit['chunk'] | undefined;
  /** It is here for what the passage means, not only for its words. */
  readonly byMeaning: boolean;
}

export interface FilledPage extends Pick<IndexAnswer, 'facets' | 'total' | 'totalIsEstimate' | 'complete' | 'more'> {
  readonly found: readonly Found[];
  /** The offset behind the last hit that was looked at. */
  readonly next: number;
}
