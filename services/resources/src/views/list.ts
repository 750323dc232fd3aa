import { decodeCursor, encodeCursor, keyset, type Sort, type Where } from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import type { Node } from '../stores/nodes.js';

/** Totals of filtered lists are exact up to so many. */
const EXACT_TOTAL = 1000;

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
  const { limit, offset, cursor } = query.page;
  const after = cursor === '' ? undefined : decodeCursor(cursor);
  const [found, total] = await Promise.all([
    parts.tree.nodes.find({ where: query.where, sort: query.sort, limit: limit + 1, offset, after }),
    totalOf(parts, query),
  ]);
  return { nodes: found.slice(0, limit), page: pageOf(query, found, total) };
}

async function totalOf(parts: Parts, query: ListQuery): Promise<{ total: number; estimate: boolean }> {
  if (query.total !== undefined) return { total: query.total, estimate: false };
  const counted = await parts.tree.nodes.count(query.where, EXACT_TOTAL + 1);
  return { total: Math.min(counted, EXACT_TOTAL), estimate: counted > EXACT_TOTAL };
}

function pageOf(
  { page, sort }: ListQuery,
  found: readonly Node[],
  { total, estimate }: { total: number; estimate: boolean },
): Page {
  const { limit, offset, cursor } = page;
  const last = found.length > limit ? found[limit - 1] : undefined;
  return {
    limit,
    offset,
    total,
    totalIsEstimate: estimate,
    hasMore: last !== undefined,
    nextOffset: last === undefined || cursor !== '' ? undefined : offset + limit,
    nextCursor: last === undefined ? undefined : encodeCursor(keyset(last, sort)),
  };
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
  const { limit, offset, cursor } = query.page;
  let after = cursor === '' ? undefined : decodeCursor(cursor);
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
  const total = estimate ? (query.total ?? kept.length) : kept.length;
  const page = pageOf(query, nodes, { total, estimate });
  return { nodes: nodes.slice(0, limit), page };
}
