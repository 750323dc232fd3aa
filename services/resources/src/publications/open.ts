import { fingerprint } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { HostKind, type ReaderAddress, type Revision } from '@commonplace/proto/resources/v1/reader_service.js';
import type { SharingTerms } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { publicUrlOf } from './addresses.js';
import type { KnownHost } from './hosts.js';
import { imageOf } from './images.js';
import { missing, type OpenedPublication, type Opening, termsOf } from './opening.js';
import type { Outline } from './outline.js';
import type { PublicationParts } from './parts.js';
import { proofEnd } from './proofs.js';
import { stateOf } from './publication-state.js';
import { nameOf, type PublicationRecord } from './records.js';
import { openShareLink } from './share-links.js';

/** Determines what a reader may see at an address. Reads only, as the call has no authenticated caller. */
export async function openAddress(
  parts: PublicationParts,
  address: ReaderAddress | undefined,
  context: CallContext,
): Promise<Opening> {
  const nowMs = Date.now();
  const now = new Date(nowMs).toISOString();
  const host = address === undefined ? undefined : await parts.hosts.of(address.host);
  if (address === undefined || host === undefined) return missing(HostKind.UNSPECIFIED, false, 'none');
  if (address.shareLink) return openShareLink(parts, host, address, context);
  const resolved = await resolveAddress(parts, host, address.slug, now);
  if (resolved === undefined) return missing(host.kind, false, 'none');
  if (resolved === 'gone') return missing(host.kind, true, 'gone');
  const { publication, former } = resolved;
  const terms = await termsOf(parts, publication, context);
  const outline = terms === undefined ? undefined : await parts.outlines.of(publication);
  const state = terms === undefined ? 'suspended' : stateOf(publication, terms, outline !== undefined, now);
  if (terms === undefined || outline === undefined || state !== 'active') {
    const gone = state === 'expired' || state === 'unpublished';
    return missing(host.kind, gone, `${publication.id} ${publication.version} ${state}`);
  }
  const domains = await activeDomains(parts, publication.id);
  const image = await imageOf(parts, publication, terms.workspaceId);
  const protects = publication.visibility === 'password';
  const proven = protects && address.proof !== undefined ? proofEnd(publication, address.proof, nowMs) : undefined;
  const revision: Revision = {
    hostKind: host.kind,
    publicationId: publication.id,
    revision: revisionOf(publication, terms, outline, {
      domains,
      image: image?.version,
      locked: protects && proven === undefined,
    }),
    validUntil: earliest(publication.expiresAt, proven),
    private: protects,
  };
  if (former) return { kind: 'moved', location: publicUrlOf(parts.hosts.open, publication.slug), revision };
  const opened: OpenedPublication = { host, publication, terms, outline, revision, domains, now };
  return { kind: protects && proven === undefined ? 'password' : 'open', opened, revision };
}

/** Returns the publication that a slug or a domain refers to, and whether the slug is a former one. */
async function resolveAddress(
  { publications, slugs }: PublicationParts,
  host: KnownHost,
  slug: string,
  now: string,
): Promise<{ publication: PublicationRecord; former: boolean } | 'gone' | undefined> {
  if (host.publicationId !== undefined) {
    const publication = await publications.get(host.publicationId);
    return publication === undefined ? undefined : { publication, former: false };
  }
  const known = await slugs.get(slug);
  if (known === undefined || (known.until !== undefined && known.until <= now)) return undefined;
  const publication = await publications.get(known.publicationId);
  if (known.state === 'reserved' || publication === undefined) return 'gone';
  return { publication, former: known.state === 'former' };
}

/** Returns the active domains in the order in which they were added. */
export async function activeDomains(
  { domains }: Pick<PublicationParts, 'domains'>,
  publicationId: string,
): Promise<string[]> {
  const found = await domains.find({ where: { publicationId }, limit: MAX_DOMAINS });
  const active = found.filter(({ status }) => status === 'active');
  active.sort((a, b) => (a.addedAt < b.addedAt ? -1 : 1));
  return active.map(nameOf);
}

/** Maximum number of domains of one publication, including those being replaced. */
export const MAX_DOMAINS = 50;

/** Returns a fingerprint of everything that a page may be made of. */
function revisionOf(
  { id, version }: PublicationRecord,
  { workspaceName, locale }: SharingTerms,
  { fingerprint: tree }: Outline,
  { domains, image = 0, locked }: { domains: readonly string[]; image: number | undefined; locked: boolean },
): string {
  const facts = [id, String(version), tree, workspaceName, locale, domains.join(' '), String(image), String(locked)];
  return fingerprint(...facts).slice(0, 22);
}

const earliest = (...times: (string | undefined)[]): string | undefined =>
  times.filter((time) => time !== undefined).sort()[0];
