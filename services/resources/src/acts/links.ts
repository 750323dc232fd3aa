import { randomBytes } from 'node:crypto';
import { LinkAudience } from '@commonplace/proto/resources/v1/permission.js';
import { linkPrincipal } from '../domain/principals.js';
import type { Parts } from '../parts.js';
import { grantId } from '../stores/grants.js';
import type { Node } from '../stores/nodes.js';
import type { Wish } from './grants.js';

/** The link of a node as it is to be: its token stays while there is one. */
export async function linkFor(
  parts: Parts,
  node: Pick<Node, 'id'>,
  audience: LinkAudience,
): Promise<Pick<Wish, 'principal' | 'link'>> {
  const before = await parts.grants.get(grantId(node.id, 'link:'));
  const token = before?.link?.token ?? randomBytes(24).toString('base64url');
  const link = { token, audience: audience === LinkAudience.ANYONE ? ('anyone' as const) : ('org' as const) };
  return { principal: linkPrincipal(token), link };
}
