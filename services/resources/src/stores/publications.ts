import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { CertificateState } from '../publications/certificates.js';
import type { FileState, NodeType } from './nodes.js';

export type Visibility = 'public' | 'unlisted' | 'password';
export type Mode = 'live' | 'pinned';

/** What is published, and how. */
export interface PublicationRecord extends StoredRecord {
  readonly tenant: string;
  /** The resource's id, or the workspace's: an item is published once. */
  readonly itemId: string;
  readonly kind: 'resource' | 'workspace';
  /** Of the item when it was published last; a resource that has moved since says where it is itself. */
  readonly workspaceId: string;
  /** The boundary of the resource when it was published: what was restricted later is not shown. */
  readonly boundary: string;
  readonly slug: string;
  readonly active: boolean;
  /** An operator keeps it from readers since then, whatever its editors do. */
  readonly suspendedAt?: string | undefined;
  readonly visibility: Visibility;
  /** It is listed for search engines: public, and by choice. */
  readonly listed: boolean;
  readonly passwordHash?: string | undefined;
  /** Signs proofs of the password; another one with each password. */
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
  /** Of a pinned one: names the pages that were pinned together. */
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

/** A slug that is or was somebody's. Its id is the slug. */
export interface SlugRecord extends StoredRecord {
  readonly tenant: string;
  readonly itemId: string;
  readonly publicationId: string;
  /**
   * `current`: leads to the publication. `former`: leads on to the current one until `until`. `reserved`: nobody else
   * can have it until then.
   */
  readonly state: 'current' | 'former' | 'reserved';
  readonly until?: string | undefined;
}

export const slugCollection: CollectionSpec<SlugRecord> = {
  name: 'publication_slugs',
  indexes: [{ fields: ['publicationId'] }, { fields: ['itemId'] }],
};

/** Slugs that one item has at the most: those that lead on are forgotten after a while. */
export const SLUGS = 200;

/** One page of a pinned publication, as it was. Its content is kept under `keptId`. */
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

/** How often pages of a publication were opened. Its id is the publication's. */
export interface ViewCount extends StoredRecord {
  readonly tenant: string;
  readonly views: number;
}

export const viewCollection: CollectionSpec<ViewCount> = { name: 'publication_views', indexes: [] };

/** Tries of a password from one place. */
export interface PasswordTries extends StoredRecord {
  readonly tenant: string;
  readonly tries: number;
  /** When the first of them is forgotten, and all with it. */
  readonly until: string;
}

export const passwordTriesCollection: CollectionSpec<PasswordTries> = {
  name: 'publication_password_tries',
  indexes: [{ fields: ['until'] }],
};

export interface RecordState {
  readonly txt: boolean;
  readonly cname: boolean;
}

/** A host name of a publication's own. Its id is the name: it belongs to one publication. */
export interface DomainRecord extends StoredRecord {
  readonly tenant: string;
  readonly publicationId: string;
  /** What the TXT record has to hold. */
  readonly token: string;
  readonly status: 'pending_dns' | 'verifying' | 'active' | 'failed';
  readonly seen: RecordState;
  readonly addedAt: string;
  readonly lastCheckedAt?: string | undefined;
  readonly nextCheckAt: string;
  /** Of an active one: since when its records are gone. */
  readonly lostAt?: string | undefined;
  readonly error?: string | undefined;
  /** Of an active one, where anything is known of it. */
  readonly certificate?: CertificateState;
}

export const domainCollection: CollectionSpec<DomainRecord> = {
  name: 'publication_domains',
  indexes: [{ fields: ['publicationId'] }, { fields: ['nextCheckAt'] }],
};
