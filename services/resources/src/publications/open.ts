import { AppError } from '@commonplace/kit/errors';
import { fingerprint } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { HostKind, type ReaderAddress, type Revision } from '@commonplace/proto/resources/v1/reader_service.js';
import type { SharingTerms } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { Parts } from '../parts.js';
import type { PublicationRecord } from '../stores/publications.js';
import { publicUrlOf } from './addresses.js';
import type { KnownHost } from './hosts.js';
import { imageOf } from './images.js';
import type { Outline } from './outline.js';
import { proofEnd } from './proofs.js';
import { stateOf } from './standing.js';

/** A publication that a reader may see, as they reach it. */
export interface Opened {
  readonly host: KnownHost;
  readonly publication: PublicationRecord;
  readonly terms: SharingTerms;
  readonly outline: Outline;
  readonly revision: Revision;
  /** Its own domains that are active; the first one goes before the others. */
  readonly domains: readonly string[];
  readonly now: string;
}

export type Opening =
  | { readonly kind: 'open'; readonly opened: Opened; readonly revision: Revision }
  | { readonly kind: 'password'; readonly opened: Opened; readonly revision: Revision }
  /** It has another slug now; a path behind it goes on. */
  | { readonly kind: 'moved'; readonly location: string; readonly revision: Revision }
  | { readonly kind: 'missing'; readonly gone: boolean; readonly revision: Revision };

/** Finds out what a reader may see under an address. Reads alone: nobody is behind the call. */
export async function openAddress(
  parts: Parts,
  address: ReaderAddress | undefined,
  context: CallContext,
): Promise<Opening> {
  const nowMs = Date.now();
  const now = new Date(nowMs).toISOString();
  const host = address === undefined ? undefined : await parts.hosts.of(address.host);
  if (address === undefined || host === undefined) return missing(HostKind.UNSPECIFIED, false, 'none');
  const led = await lead(parts, host, address.slug, now);
  if (led === undefined) return missing(host.kind, false, 'none');
  if (led === 'gone') return missing(host.kind, true, 'gone');
  const { publication, former } = led;
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
  const opened: Opened = { host, publication, terms, outline, revision, domains, now };
  return { kind: protects && proven === undefined ? 'password' : 'open', opened, revision };
}

/** What a slug or a domain leads to. */
async function lead(
  { publications, slugs }: Parts,
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

/** Undefined where the workspace or its Org is no more. */
export async function termsOf(
  parts: Pick<Parts, 'terms' | 'tree'>,
  { kind, itemId, workspaceId }: Pick<PublicationRecord, 'kind' | 'itemId' | 'workspaceId'>,
  context: Pick<CallContext, 'onward'>,
): Promise<SharingTerms | undefined> {
  const head = kind === 'resource' ? await parts.tree.get(itemId) : undefined;
  try {
    return await parts.terms.of(head?.workspaceId ?? workspaceId, context.onward);
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** The domains that are active, in the order in which they were added. */
export async function activeDomains({ domains }: Pick<Parts, 'domains'>, publicationId: string): Promise<string[]> {
  const found = await domains.find({ where: { publicationId }, limit: DOMAINS });
  const active = found.filter(({ status }) => status === 'active');
  active.sort((a, b) => (a.addedAt < b.addedAt ? -1 : 1));
  return active.map(({ id }) => id);
}

/** Domains of one publication, those that are being replaced among them. */
export const DOMAINS = 50;

/** Names all that a page may be made of. */
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

function missing(hostKind: HostKind, gone: boolean, what: string): Opening {
  const revision = fingerprint('missing', String(hostKind), what).slice(0, 22);
  return {
    kind: 'missing',
    gone,
    revision: { hostKind, publicationId: '', revision, validUntil: undefined, private: false },
  };
}
