import type { StoredLimit } from '@commonplace/kit/limits';
import type { Passwords } from '@commonplace/kit/passwords';
import type { Collection, Collections } from '@commonplace/kit/store';
import type { Grant } from '../domain/grant.js';
import type { ContentKinds } from '../kinds.js';
import type { Parts } from '../parts.js';
import type { TermsCache } from '../terms.js';
import type { CertificateProbe } from './certificates.js';
import type { DomainResolver } from './dns.js';
import type { Hosts } from './hosts.js';
import type { Outlines } from './outlines.js';
import {
  type DomainRecord,
  pinnedPageCollection,
  publicationCollection,
  slugCollection,
  viewCollection,
} from './records.js';

/** The collections of publications that no queue opens. */
export const PUBLICATION_RECORDS = {
  publications: publicationCollection,
  slugs: slugCollection,
  pinned: pinnedPageCollection,
  views: viewCollection,
};

/** Holds what publications depend on. */
export interface PublicationParts extends Parts, Collections<typeof PUBLICATION_RECORDS> {
  readonly kinds: ContentKinds;
  readonly grants: Collection<Grant>;
  readonly domains: Collection<DomainRecord>;
  readonly passwordTries: StoredLimit;
  readonly passwords: Passwords;
  readonly outlines: Outlines;
  readonly hosts: Hosts;
  readonly resolver: DomainResolver;
  readonly certificates: CertificateProbe;
  readonly terms: TermsCache;
}
