import { reachesWorkspace } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import { valuesByName } from '@commonplace/platform/enums';
import { type AccessibleResource, UntrustedAuthor } from '@commonplace/proto/resources/v1/index_service.js';
import { reachOfGrants } from '../domain/access.js';
import type { Node, UntrustedWriter } from '../domain/node.js';
import { untrustedAuthors } from '../domain/untrusted.js';
import { pathFrom } from '../tree/surroundings.js';
import { roleMessage, TYPES } from '../wire.js';
import type { SearchParts } from './parts.js';

/** Returns those resources that the caller may read, with facts about their readers and authors. */
export async function accessible(
  parts: SearchParts,
  ids: readonly string[],
  context: CallContext,
): Promise<AccessibleResource[]> {
  const subject = await parts.policy.subject(context);
  const nodes = (await parts.tree.getMany(ids)).filter(
    (node) => node.state === 'active' && reachesWorkspace(subject.caller, node.workspaceId, node.orgId),
  );
  const access = await parts.policy.accessToAll(nodes, subject);
  const above = await parts.tree.getMany([...new Set(nodes.flatMap((node) => node.ancestors))]);
  const loaded = new Map(above.map((node) => [node.id, node]));
  const tags = await parts.tags.ofAll(nodes);
  const now = Date.now();
  const found: AccessibleResource[] = [];
  for (const [i, node] of nodes.entries()) {
    const held = access[i];
    if (held === undefined) continue;
    found.push({
      id: node.id,
      workspaceId: node.workspaceId,
      type: TYPES[node.type],
      name: node.name,
      icon: node.icon,
      path: await pathFrom(parts, node, loaded, subject),
      updatedAt: node.updatedAt,
      tags: (tags.get(node.id) ?? []).map(({ id }) => id),
      role: roleMessage(held.role),
      contentVersion: node.contentVersion,
      boundaryId: node.boundary,
      isShared: isShared(node, loaded),
      untrusted: untrustedAuthors(node, now).map((author) => AUTHORS[author]),
    });
  }
  return found;
}

const AUTHORS: Readonly<Record<UntrustedWriter, UntrustedAuthor>> = valuesByName(UntrustedAuthor);

/** Returns whether a node has readers outside of its boundary, by a grant below the boundary or by a publication. */
function isShared(node: Node, loaded: ReadonlyMap<string, Node>): boolean {
  const chain = [...node.ancestors.flatMap((id) => loaded.get(id) ?? []), node];
  if (chain.some(({ published }) => published === true)) return true;
  const reach = new Set(reachOfGrants(node));
  return chain.some(({ id, principals }) => reach.has(id) && id !== node.boundary && principals.length > 0);
}
