import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import {
  HostKind,
  type IndexedPage,
  type ListIndexedRequest,
  type ListIndexedResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import { addressesOn } from './addresses.js';
import { canonicalOf } from './face.js';
import type { KnownHost } from './hosts.js';
import { activeDomains } from './open.js';
import { termsOf } from './opening.js';
import type { PublicationParts } from './parts.js';
import { stateOf } from './publication-state.js';
import type { PublicationRecord } from './records.js';

const MAX_PUBLICATIONS = 100;
/** An answer ends after the publication with which it reaches this number of pages. */
const MAX_PAGES = 10_000;

/** Returns the pages on a host that search engines may list, one page of publications at a time. */
export async function listIndexed(
  parts: PublicationParts,
  { host: header, cursor, limit }: ListIndexedRequest,
  context: CallContext,
): Promise<ListIndexedResponse> {
  const host = await parts.hosts.of(header);
  if (host === undefined) return { hostKind: HostKind.UNSPECIFIED, items: [], nextCursor: '' };
  const none = { hostKind: host.kind, items: [], nextCursor: '' };
  if (host.kind === HostKind.CONTENT) return none;
  if (host.publicationId !== undefined) {
    const publication = await parts.publications.get(host.publicationId);
    if (publication === undefined || !publication.listed) return none;
    return { ...none, items: await pagesOf(parts, host, publication, context) };
  }
  const max = Math.min(limit > 0 ? limit : MAX_PUBLICATIONS, MAX_PUBLICATIONS);
  const after = cursor === '' ? undefined : [cursor];
  const found = await parts.publications.find({ where: { listed: true }, limit: max, after });
  const items: IndexedPage[] = [];
  for (const publication of found) {
    items.push(...(await pagesOf(parts, host, publication, context)));
    if (items.length >= MAX_PAGES) return { ...none, items, nextCursor: publication.id };
  }
  return { ...none, items, nextCursor: found.length === max ? (found.at(-1)?.id ?? '') : '' };
}

/**
 * Returns the pages of a publication that may be listed. On the public host, a publication with its own domain has
 * none: it is listed on that domain only, which is its canonical address.
 */
async function pagesOf(
  parts: PublicationParts,
  host: KnownHost,
  publication: PublicationRecord,
  context: CallContext,
): Promise<IndexedPage[]> {
  const domains = await activeDomains(parts, publication.id);
  if (domains.length > 0 && host.kind === HostKind.PUBLIC) return [];
  const terms = await termsOf(parts, publication, context);
  const outline = terms === undefined ? undefined : await parts.outlines.of(publication);
  const now = new Date().toISOString();
  if (terms === undefined || outline === undefined) return [];
  if (stateOf(publication, terms, outline !== undefined, now) !== 'active') return [];
  const addresses = addressesOn(host, publication.slug, publication.itemId);
  const language = terms.locale || 'en';
  const breathe = createBreathe(context.signal);
  const pageAt = (path: string, updatedAt: string, isPublication: boolean): IndexedPage => {
    const url = canonicalOf(parts, { publication, domains }, addresses, path);
    return { path, updatedAt, isPublication, language, url };
  };
  const pages = [pageAt(addresses.home, outline.head?.updatedAt ?? publication.updatedAt, true)];
  for (const { shown } of outline.entries) {
    pages.push(pageAt(addresses.page(shown), shown.updatedAt, false));
    await breathe();
  }
  return pages;
}
