import type { UnitOfWork } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';
import { dropDomains } from './domains.js';
import type { PublicationParts } from './parts.js';
import { forgetEdition, forgetPinned } from './pins.js';
import { MAX_SLUGS } from './records.js';

/** Deletes the publications and slugs of purged nodes. */
export async function forgetPublications(
  parts: PublicationParts,
  work: UnitOfWork,
  nodes: readonly Node[],
): Promise<void> {
  const ids = nodes.map(({ id }) => id);
  await forgetPinned(parts, ids, work);
  const itemId = { in: ids };
  for (const slug of await parts.slugs.find({ where: { itemId }, limit: MAX_SLUGS * ids.length })) {
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
