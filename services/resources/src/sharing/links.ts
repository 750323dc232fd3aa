import { randomBytes } from 'node:crypto';
import { LinkAudience } from '@commonplace/proto/resources/v1/permission.js';
import { grantId } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { linkPrincipal } from '../domain/principals.js';
import type { RequestedGrant } from './grants.js';
import type { SharingParts } from './parts.js';

/** Returns the principal and the link for a grant by link; keeps the token if the node already has a link. */
export async function linkFor(
  parts: SharingParts,
  node: Pick<Node, 'id'>,
  audience: LinkAudience,
): Promise<Pick<RequestedGrant, 'principal' | 'link'>> {
  const before = await parts.grants.get(grantId(node.id, 'link:'));
  const token = before?.link?.token ?? randomBytes(24).toString('base64url');
  const link = { token, audience: audience === LinkAudience.ANYONE ? ('anyone' as const) : ('org' as const) };
  return { principal: linkPrincipal(token), link };
}
