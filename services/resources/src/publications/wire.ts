import type { CallContext } from '@commonplace/kit/rpc';
import { actorMessage } from '@commonplace/platform/actors';
import { valuesByName } from '@commonplace/platform/enums';
import {
  DomainCertificate,
  DomainStatus,
  Publication,
  type PublicationDomain,
  PublicationMode,
  PublicationStatus,
  PublicationVisibility,
} from '@commonplace/proto/resources/v1/publication.js';
import { publicUrlOf } from './addresses.js';
import { verifyName, verifyValue } from './domains.js';
import { MAX_DOMAINS } from './open.js';
import { termsOf } from './opening.js';
import type { Outline } from './outline.js';
import type { PublicationParts } from './parts.js';
import { type PublicationState, stateOf } from './publication-state.js';
import type { PublishResult } from './publish.js';
import { type DomainRecord, nameOf, type PublicationRecord } from './records.js';

const STATUSES: Record<PublicationState, PublicationStatus> = valuesByName(PublicationStatus);

export const VISIBILITIES: Record<PublicationRecord['visibility'], PublicationVisibility> =
  valuesByName(PublicationVisibility);

const MODES: Record<PublicationRecord['mode'], PublicationMode> = valuesByName(PublicationMode);

/** Returns the message for an item that is not published. */
export function unpublishedMessage(resourceId: string | undefined): Publication {
  return Publication.fromPartial({ resourceId, status: PublicationStatus.UNPUBLISHED });
}

/** Returns the message for a stored publication. */
export async function storedMessage(parts: PublicationParts, record: PublicationRecord, context: CallContext) {
  const outline = await parts.outlines.of(record);
  const domains = await parts.domains.find({ where: { publicationId: record.id }, limit: MAX_DOMAINS });
  return message(parts, record, outline, domains, context);
}

/**
 * Returns the message for a publication that this call has just written; content pinned by it equals the current one.
 */
export async function writtenMessage(
  parts: PublicationParts,
  { record, domains, pinnedNow }: PublishResult,
  context: CallContext,
): Promise<Publication> {
  const outline = await parts.outlines.fresh(pinnedNow ? { ...record, edition: undefined } : record);
  return message(parts, record, outline, domains, context);
}

async function message(
  parts: PublicationParts,
  record: PublicationRecord,
  outline: Outline | undefined,
  domains: readonly DomainRecord[],
  context: CallContext,
): Promise<Publication> {
  const terms = await termsOf(parts, record, context);
  const now = new Date().toISOString();
  const state = terms === undefined ? 'suspended' : stateOf(record, terms, outline !== undefined, now);
  const head = outline?.head;
  return {
    id: record.id,
    resourceId: record.kind === 'resource' ? record.itemId : undefined,
    workspaceId: head?.node.workspaceId ?? record.workspaceId,
    slug: record.slug,
    url: publicUrlOf(parts.hosts.open, record.slug),
    status: STATUSES[state],
    visibility: VISIBILITIES[record.visibility],
    isPasswordProtected: record.visibility === 'password',
    expiresAt: record.expiresAt,
    includeChildren: record.includeChildren,
    allowIndexing: record.allowIndexing,
    mode: MODES[record.mode],
    publishedVersion: head?.contentVersion,
    domains: [...domains].sort((a, b) => (a.id < b.id ? -1 : 1)).map((one) => domainMessage(one, parts.hosts.target)),
    pageCount: outline === undefined ? 0 : outline.entries.length + 1,
    viewCount: (await parts.views.get(record.id))?.views ?? 0,
    title: record.title,
    description: record.description,
    imageFileId: record.imageFileId,
    theme: record.theme,
    showToc: record.showToc,
    showAuthor: record.showAuthor,
    allowCopy: record.allowCopy,
    allowDownload: record.allowDownload,
    analyticsId: record.analyticsId,
    publishedBy: actorMessage(record.publishedBy),
    publishedAt: record.publishedAt,
    updatedAt: record.updatedAt,
    version: record.version,
  };
}

const DOMAIN_STATUSES: Record<DomainRecord['status'], DomainStatus> = valuesByName(DomainStatus);

const CERTIFICATES: Record<NonNullable<DomainRecord['certificate']>, DomainCertificate> = valuesByName(
  DomainCertificate,
);

function domainMessage(domain: DomainRecord, target: string): PublicationDomain {
  const { status, token, seen, lastCheckedAt, error, certificate } = domain;
  const name = nameOf(domain);
  return {
    domain: name,
    status: DOMAIN_STATUSES[status],
    dnsRecords: [
      { type: 'TXT', name: verifyName(name), value: verifyValue(token), ok: seen.txt },
      { type: 'CNAME', name, value: target, ok: seen.cname },
    ],
    certificate: certificate === undefined ? DomainCertificate.NONE : CERTIFICATES[certificate],
    lastCheckedAt,
    error,
  };
}
