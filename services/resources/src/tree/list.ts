import { findPage, keyset, pageOf, pageOfAll, parsePageRequest, type Sort, type Where } from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import { NODE_STATES, type Node } from '../domain/node.js';
import { type Capability, may } from '../domain/role.js';
import type { AccessSubject } from '../policy.js';
import type { TreeParts } from './parts.js';

export interface NodePage {
  readonly nodes: readonly Node[];
  readonly page: Page;
}

interface ListQuery {
  readonly where: Where<Node>;
  readonly sort: Sort<Node>;
  readonly page: PageRequest;
  /** The exact total, if a counter knows it. */
  readonly total?: number;
}

/** Returns a page of nodes. The filter has to cover access completely, so that every page but the last is full. */
export async function listNodes(parts: TreeParts, query: ListQuery): Promise<NodePage> {
  const { where, sort, page: asked, total } = query;
  const { items, page } = await findPage(parts.tree.nodes, where, sort, asked, total);
  return { nodes: items, page };
}

/** Returns the filter for nodes that someone created: a person also by a key or an agent, or these themselves. */
export const createdBy = (id: string): Where<Node> => ({ or: [{ createdById: id }, { createdForId: id }] });

/** Returns a page of nodes that are all loaded. */
export function listFew(all: readonly Node[], sort: Sort<Node>, page: PageRequest): NodePage {
  const { items, page: pageInfo } = pageOfAll(parsePageRequest(page), all, sort);
  return { nodes: items, page: pageInfo };
}

/**
 * Returns a page while a job rewrites a large subtree of the workspace. Places in records are not up to date yet, so
 * every candidate is resolved through its ancestors and checked.
 */
export async function listUnsettled(
  parts: TreeParts,
  query: ListQuery & { readonly accept: (node: Node) => boolean; readonly capability: Capability },
  subject: AccessSubject,
): Promise<NodePage> {
  const slice = parsePageRequest(query.page);
  const { limit, offset } = slice;
  // Records may have either state, and the indexes that have the order begin with it.
  const where: Where<Node> = { ...query.where, state: { in: NODE_STATES } };
  let { after } = slice;
  const kept: Node[] = [];
  const chunk = 200;
  while (kept.length <= offset + limit) {
    const found = await parts.tree.nodes.find({ where, sort: query.sort, limit: chunk, after });
    const resolved = (await parts.tree.resolve(found)).filter(query.accept);
    const access = await parts.policy.accessToAll(resolved, subject);
    kept.push(...resolved.filter((_, i) => access[i] !== undefined && may(access[i].role, query.capability)));
    const last = found.at(-1);
    if (last === undefined || found.length < chunk) break;
    after = keyset(last, query.sort);
  }
  const nodes = kept.slice(offset, offset + limit + 1);
  // Counters change as the job rewrites nodes, so their sum is not exact yet.
  const estimate = kept.length > offset + limit;
  const count = estimate ? (query.total ?? kept.length) : kept.length;
  const { items, page } = pageOf(slice, nodes, { count, estimate }, query.sort);
  return { nodes: items, page };
}
