import type { PublicationSummary } from '@commonplace/proto/resources/v1/resource.js';
import type { Node } from '../domain/node.js';
import type { AccessSubject } from '../policy.js';
import { publicUrlOf } from './addresses.js';
import type { PublicationParts } from './parts.js';
import { restrictedSince, stateOf } from './publication-state.js';

/**
 * Returns the publication summaries of resources, by resource id. Costs nothing for resources without a publication.
 */
export async function publicationSummaries(
  parts: PublicationParts,
  nodes: readonly Node[],
  subject: AccessSubject,
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
    const status = stateOf(record, await subject.terms(node.workspaceId), there, subject.now);
    summaries.set(node.id, { status, url: publicUrlOf(parts.hosts.open, record.slug) });
  }
  return summaries;
}
