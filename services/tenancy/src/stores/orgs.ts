import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { OrgSettings } from '../domain/org-settings.js';
import { findAll, findOne } from './all.js';

export interface Org extends StoredRecord {
  /** Its own id. */
  readonly tenant: string;
  readonly name: string;
  /** Unique among all Orgs, those to be deleted included: a deletion can be undone. */
  readonly slug: string;
  readonly description?: string;
  readonly status: 'active' | 'deletion_scheduled';
  /** When an Org to be deleted is gone for good. */
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
  /** Those whose time to be purged has come. */
  toPurge(now: string): Promise<Org[]>;
}

export function createOrgs(records: Collection<Org>): Orgs {
  return {
    records,
    bySlug: (slug) => findOne(records, { slug }),
    toPurge: (now) => findAll(records, { status: 'deletion_scheduled', purgeAt: { lte: now } }),
  };
}
