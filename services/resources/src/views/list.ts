import { findPage, keyset, pageOf, pageOfAll, type Sort, sliceOf, type Where } from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import type { Node } from '../stores/nodes.js';

export interface Listed {
  readonly nodes: readonly Node[];
  readonly page: Page;
}

export interface ListQuery {
  readonly where: Where<Node>;
  readonly sort: Sort<Node>;
  readonly page: PageRequest;
  /** The exact total, where a counter knows it. */
  readonly total?: number;
}

/** A page of nodes by a filter that says all about permission: pages are full to the end. */
export async function listNodes(parts: Parts, query: ListQuery): Promise<Listed> {
  const { where, sort, page: asked, total } = query;
  const { items, page } = await findPage(parts.tree.nodes, where, sort, asked, total);
  return { nodes: items, page };
}

/** The same of nodes that are all at hand. */
export function listFew(all: readonly Node[], sort: Sort<Node>, page: PageRequest): Listed {
  const { items, page: told } = pageOfAll(sliceOf(page), all, sort);
  return { nodes: items, page: told };
}

/**
 * The same while a job rewrites a large subtree of the workspace: what records say of their place is
 * not yet right then, so every candidate is looked at through its parents.
 */
export async function listUnsettled(
  parts: Parts,
  query: ListQuery & { readonly accept: (node: Node) => boolean },
  standing: Standing,
): Promise<Listed> {
  const slice = sliceOf(query.page);
  const { limit, offset } = slice;
  let { after } = slice;
  const kept: Node[] = [];
  const chunk = 200;
  while (kept.length <= offset + limit) {
    const found = await parts.tree.nodes.find({ where: query.where, sort: query.sort, limit: chunk, after });
    const resolved = (await parts.tree.resolve(found)).filter(query.accept);
    const access = await parts.policy.accessToAll(resolved, standing);
    kept.push(...resolved.filter((_, i) => access[i] !== undefined));
    const last = found.at(-1);
    if (last === undefined || found.length < chunk) break;
    after = keyset(last, query.sort);
  }
  const nodes = kept.slice(offset, offset + limit + 1);
  // Counters follow the nodes that are being rewritten, so their sum is not exact yet.
  const estimate = kept.length > offset + limit;
  const count = estimate ? (query.total ?? kept.length) : kept.length;
  const { items, page } = pageOf(slice, nodes, { count, estimate }, query.sort);
  return { nodes: items, page };
}
