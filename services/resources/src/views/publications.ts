import type { PublicationSummary } from '@commonplace/proto/resources/v1/resource.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import { publicUrlOf } from '../publications/addresses.js';
import { restrictedSince, stateOf } from '../publications/standing.js';
import type { Node } from '../stores/nodes.js';

/** What resources say of their publications, by the resources' ids; most have none, and cost nothing. */
export async function publicationSummaries(
  parts: Parts,
  nodes: readonly Node[],
  standing: Standing,
): Promise<ReadonlyMap<string, PublicationSummary>> {
  const published = nodes.filter((node) => node.published === true);
  if (published.length === 0) return new Map();
  const itemId = { in: published.map(({ id }) => id) };
  const records = await parts.publications.find({ where: { itemId }, limit: published.length });
  const byItem = new Map(records.map((record) => [record.itemId, record]));
  const summaries = new Map<string, PublicationSummary>();
  for (const node of published) {
    const record = byItem.get(node.id);
    if (record === undefined) continue;
    const there = node.state === 'active' && !restrictedSince(node, record);
    const status = stateOf(record, await standing.terms(node.workspaceId), there, standing.now);
    summaries.set(node.id, { status, url: publicUrlOf(parts.hosts.open, record.slug) });
  }
  return summaries;
}
