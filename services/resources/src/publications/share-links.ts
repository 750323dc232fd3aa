import { fingerprint } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { HostKind, type ReaderAddress, type Revision } from '@commonplace/proto/resources/v1/reader_service.js';
import type { SharingTerms } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { type Grant, isExpired } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { linkPrincipal } from '../domain/principals.js';
import type { KnownHost } from './hosts.js';
import { DEFAULTS } from './input.js';
import { missing, type Opening, termsOf } from './opening.js';
import type { PublicationParts } from './parts.js';
import type { PublicationRecord } from './records.js';

const TOKEN = /^[\w-]{20,64}$/;

/**
 * Opens the target of a share link for a reader in a browser. It is presented with the pages of publications, but is
 * not a publication. A link for members of the Org opens only for a signed-in viewer who belongs to the tenant.
 */
export async function openShareLink(
  parts: PublicationParts,
  host: KnownHost,
  { slug: token, viewerId = '' }: ReaderAddress,
  context: CallContext,
): Promise<Opening> {
  if (host.kind !== HostKind.PUBLIC || !TOKEN.test(token)) return missing(host.kind, false, 'none');
  const now = new Date().toISOString();
  const [grant] = await parts.grants.find({ where: { principal: linkPrincipal(token) }, limit: 1 });
  const node = grant && (await parts.tree.get(grant.resourceId));
  if (grant === undefined || node === undefined) return missing(host.kind, false, 'none');
  const publication = publicationOf(grant, node, token);
  const terms = await termsOf(parts, publication, context);
  if (terms === undefined) return missing(host.kind, false, 'none');
  if (!isForAnyone(grant, terms)) {
    if (viewerId === '') return { ...missing(host.kind, false, 'sign in'), signIn: true };
    if (!(await parts.policy.belongsTo(grant.tenant, viewerId, context))) return missing(host.kind, false, 'none');
  }
  const outline = isExpired(grant, now) ? undefined : await parts.outlines.of(publication);
  if (outline === undefined) return missing(host.kind, true, `${grant.id} ${grant.version}`);
  const facts = ['share link', grant.id, String(grant.version), outline.fingerprint, terms.workspaceName, terms.locale];
  const revision: Revision = {
    hostKind: host.kind,
    publicationId: publication.id,
    revision: fingerprint(...facts).slice(0, 22),
    validUntil: grant.expiresAt,
    private: true,
  };
  return {
    kind: 'open',
    opened: { host, publication, terms, outline, revision, domains: [], now, shared: true },
    revision,
  };
}

/**
 * Returns whether anyone may open a link. A link for anyone requires membership while the Org forbids external sharing.
 */
function isForAnyone({ link }: Grant, { allowExternalSharing }: SharingTerms): boolean {
  return link?.audience === 'anyone' && allowExternalSharing;
}

/** Describes what a link shares as an unlisted publication: the resource and everything below it in its boundary. */
function publicationOf(grant: Grant, node: Node, token: string): PublicationRecord {
  const { id, version, tenant, workspaceId, resourceId, grantedBy, createdAt } = grant;
  return {
    id,
    version,
    tenant,
    itemId: resourceId,
    kind: 'resource',
    workspaceId,
    boundary: node.boundary,
    slug: token,
    active: true,
    ...DEFAULTS,
    listed: false,
    publishedBy: grantedBy,
    publishedAt: createdAt,
    createdAt,
    updatedAt: createdAt,
    updatedBy: grantedBy,
  };
}
