import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import { usageCollection } from '@commonplace/kit/limits';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { FileState, NodeType } from '../domain/node.js';
import type { CertificateState } from './certificates.js';

export type Visibility = 'public' | 'unlisted' | 'password';
export type Mode = 'live' | 'pinned';

/** The settings of a published item. */
export interface PublicationRecord extends StoredRecord {
  readonly tenant: string;
  /** Id of the resource or the workspace; an item has at most one publication. */
  readonly itemId: string;
  readonly kind: 'resource' | 'workspace';
  /** Workspace of the item when it was last published. For a resource that has moved since, read the node instead. */
  readonly workspaceId: string;
  /** Boundary of the resource when it was published; what was restricted later is not shown. */
  readonly boundary: string;
  readonly slug: string;
  readonly active: boolean;
  /** Time since which an operator withholds the publication from readers, whatever its editors do. */
  readonly suspendedAt?: string | undefined;
  readonly visibility: Visibility;
  /** The publication is listed for search engines: it is public, and its editors allow indexing. */
  readonly listed: boolean;
  readonly passwordHash?: string | undefined;
  /** Key that signs proofs of the password; each new password gets a new key. */
  readonly proofKey?: string | undefined;
  readonly expiresAt?: string | undefined;
  readonly includeChildren: boolean;
  readonly allowIndexing: boolean;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly imageFileId?: string | undefined;
  readonly theme?: string | undefined;
  readonly showToc: boolean;
  readonly showAuthor: boolean;
  readonly allowCopy: boolean;
  readonly allowDownload: boolean;
  readonly analyticsId?: string | undefined;
  readonly mode: Mode;
  /** For a pinned publication: id shared by the pages that were pinned together. */
  readonly edition?: string | undefined;
  readonly publishedBy: Actor;
  readonly publishedAt: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly updatedBy: Actor;
}

export const publicationCollection: CollectionSpec<PublicationRecord> = {
  name: 'publications',
  indexes: [{ fields: ['itemId'], unique: true }, { fields: ['listed'] }],
};

/** A slug that an item has or had. Its id is the slug. */
export interface SlugRecord extends StoredRecord {
  readonly tenant: string;
  readonly itemId: string;
  readonly publicationId: string;
  /**
   * `current` leads to the publication. `former` redirects to its current slug until `until`. `reserved` keeps the slug
   * from other items until then.
   */
  readonly state: 'current' | 'former' | 'reserved';
  readonly until?: string | undefined;
}

export const slugCollection: CollectionSpec<SlugRecord> = {
  name: 'publication_slugs',
  indexes: [{ fields: ['publicationId'] }, { fields: ['itemId'] }],
};

/** Maximum number of slugs of one item; redirecting ones expire. */
export const MAX_SLUGS = 200;

/** One page of a pinned publication, as it was when it was pinned. Its content is kept under `keptId`. */
export interface PinnedPage extends StoredRecord {
  readonly tenant: string;
  readonly edition: string;
  readonly nodeId: string;
  readonly keptId: string;
  readonly type: NodeType;
  readonly parentKey: string;
  readonly position: string;
  readonly name: string;
  readonly icon?: string | undefined;
  readonly description?: string | undefined;
  readonly attachment?: true | undefined;
  readonly file?: FileState | undefined;
  readonly contentVersion: number;
  readonly sizeBytes: number;
  readonly updatedBy: Actor;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const pinnedPageCollection: CollectionSpec<PinnedPage> = {
  name: 'pinned_pages',
  indexes: [{ fields: ['edition'] }, { fields: ['nodeId'] }],
};

/** Counts the page views of a publication. Its id is the publication's. */
export interface ViewCount extends StoredRecord {
  readonly tenant: string;
  readonly views: number;
}

export const viewCollection: CollectionSpec<ViewCount> = { name: 'publication_views', indexes: [] };

/** Limits the attempts to open publications by password: per network, and per publication over all networks. */
export const passwordTriesCollection = usageCollection('publication_password_tries');

export interface RecordState {
  readonly txt: boolean;
  readonly cname: boolean;
}

/**
 * A publication's claim to a host name. Any number of publications may claim the same name. The first one to prove it
 * gets the record whose id is the name; the others have derived ids (`claimId`).
 */
export interface DomainRecord extends JobRecord {
  readonly tenant: string;
  readonly publicationId: string;
  /** The host name, if it is not the id. */
  readonly domain?: string | undefined;
  /** Value that the TXT record must contain. */
  readonly token: string;
  readonly status: 'pending_dns' | 'verifying' | 'active' | 'failed';
  readonly seen: RecordState;
  readonly addedAt: string;
  readonly lastCheckedAt?: string | undefined;
  /** When the domain is checked next; while a worker checks it, the end of the worker's lease. */
  readonly nextCheckAt: string;
  /** For an active domain: time since which its DNS records are missing. */
  readonly lostAt?: string | undefined;
  readonly error?: string | undefined;
  /** For an active domain: the state of its certificate, if known. */
  readonly certificate?: CertificateState | undefined;
}

/** Returns the host name of a domain record. */
export function nameOf({ id, domain }: Pick<DomainRecord, 'id' | 'domain'>): string {
  return domain ?? id;
}

export const domainCollection: CollectionSpec<DomainRecord> = {
  name: 'publication_domains',
  indexes: [{ fields: ['publicationId'] }, { fields: ['nextCheckAt'] }, DEAD_INDEX],
};

export const domainQueue: QueueSpec<DomainRecord> = {
  name: 'resources.domains',
  collection: domainCollection,
  due: 'nextCheckAt',
  describe: (record) => `check of ${nameOf(record)} for publication ${record.publicationId}`,
  keptBecause: () => 'a publication names the domain; remove it there',
};
