import type { UnitOfWork } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import { dropDomains } from '../publications/domains.js';
import { forgetEdition, forgetPinned } from '../publications/pins.js';
import type { Node } from '../stores/nodes.js';
import { SLUGS } from '../stores/publications.js';

/** Takes away what is published of nodes that are purged, with the slugs: there is nothing that they could lead to. */
export async function forgetPublications(parts: Parts, work: UnitOfWork, nodes: readonly Node[]): Promise<void> {
  const ids = nodes.map(({ id }) => id);
  await forgetPinned(parts, ids, work);
  const itemId = { in: ids };
  for (const slug of await parts.slugs.find({ where: { itemId }, limit: SLUGS * ids.length })) {
    work.remove(parts.slugs, slug);
  }
  const published = nodes.filter((node) => node.published === true);
  if (published.length === 0) return;
  const where = { itemId: { in: published.map(({ id }) => id) } };
  for (const record of await parts.publications.find({ where, limit: published.length })) {
    await dropDomains(parts, record.id, { work });
    if (record.edition !== undefined) await forgetEdition(parts, record.edition, work);
    const views = await work.get(parts.views, record.id);
    if (views !== undefined) work.remove(parts.views, views);
    work.remove(parts.publications, record);
  }
}
