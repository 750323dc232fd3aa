import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { OrgSettings } from '../domain/org-settings.js';
import { findAllWhere, findOne } from './all.js';

export interface Org extends StoredRecord {
  /** The id of the Org itself. */
  readonly tenant: string;
  readonly name: string;
  /** Unique among all Orgs, including those whose deletion is scheduled, since a deletion can be undone. */
  readonly slug: string;
  readonly description?: string;
  readonly status: 'active' | 'deletion_scheduled';
  /** The time at which an Org whose deletion is scheduled becomes due for purging. */
  readonly purgeAt?: string;
  readonly settings: OrgSettings;
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly updatedBy: Actor;
  readonly updatedAt: string;
}

export const orgCollection: CollectionSpec<Org> = {
  name: 'orgs',
  indexes: [{ fields: ['slug'], unique: true }, { fields: ['status', 'purgeAt'] }],
};

export interface Orgs {
  readonly records: Collection<Org>;
  bySlug(slug: string): Promise<Org | undefined>;
  /** Returns the Orgs that are due for purging. */
  toPurge(now: string): Promise<Org[]>;
}

export function createOrgs(records: Collection<Org>): Orgs {
  return {
    records,
    bySlug: (slug) => findOne(records, { slug }),
    toPurge: (now) => findAllWhere(records, { status: 'deletion_scheduled', purgeAt: { lte: now } }),
  };
}
