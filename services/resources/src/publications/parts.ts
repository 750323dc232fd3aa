import type { StoredLimit } from '@commonplace/kit/limits';
import type { Passwords } from '@commonplace/kit/passwords';
import type { Collection } from '@commonplace/kit/store';
import type { Grant } from '../domain/grant.js';
import type { ContentKinds } from '../kinds.js';
import type { Parts } from '../parts.js';
import type { TermsCache } from '../terms.js';
import type { CertificateProbe } from './certificates.js';
import type { DomainResolver } from './dns.js';
import type { Hosts } from './hosts.js';
import type { Outlines } from './outlines.js';
import type { DomainRecord, PinnedPage, PublicationRecord, SlugRecord, ViewCount } from './records.js';

/** Holds what publications depend on. */
export interface PublicationParts extends Parts {
  readonly kinds: ContentKinds;
  readonly grants: Collection<Grant>;
  readonly publications: Collection<PublicationRecord>;
  readonly slugs: Collection<SlugRecord>;
  readonly domains: Collection<DomainRecord>;
  readonly pinned: Collection<PinnedPage>;
  readonly views: Collection<ViewCount>;
  readonly passwordTries: StoredLimit;
  readonly passwords: Passwords;
  readonly outlines: Outlines;
  readonly hosts: Hosts;
  readonly resolver: DomainResolver;
  readonly certificates: CertificateProbe;
  readonly terms: TermsCache;
}
