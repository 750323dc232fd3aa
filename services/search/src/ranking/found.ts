import type { AccessibleResource, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { Search } from '../domain/request.js';
import type { IndexAnswer, RankedPlace } from '../index/port.js';

/** Holds what is searched for: the request, and what the caller may find. */
export interface Question {
  readonly request: Search;
  readonly filter: SearchFilter;
}

/** A place in an answer. */
export interface FoundPlace extends Omit<RankedPlace, 'id'> {
  readonly resource: AccessibleResource;
}

export interface FilledPage extends Pick<IndexAnswer, 'facets' | 'total' | 'totalIsEstimate' | 'complete' | 'more'> {
  readonly found: readonly FoundPlace[];
  /** Offset after the last hit that was examined. */
  readonly next: number;
}
