import type { Collection } from '@commonplace/kit/store';
import type { Departures } from '@commonplace/platform/departures';
import type { Grant } from '../domain/grant.js';
import type { Parts } from '../parts.js';
import type { AccessRequest } from './request-records.js';

/** Holds what sharing depends on. */
export interface SharingParts extends Parts {
  readonly grants: Collection<Grant>;
  readonly accessRequests: Collection<AccessRequest>;
  readonly departures: Departures;
}
