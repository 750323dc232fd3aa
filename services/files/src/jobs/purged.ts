import type { EventBus, Subscription } from '@commonplace/kit/events';
import { purgeFile } from '../acts/purge.js';
import { deleteDeadBlobs } from '../acts/release.js';
import type { Parts } from '../parts.js';

/** Takes files away when the tree says that their nodes are gone for good. */
export function forgetPurged(parts: Parts, bus: EventBus): Promise<Subscription> {
  const options = { consumer: 'files-purged', types: ['commonplace.resources.resource.purged'], batch: 50 };
  return bus.subscribe(options, async (events) => {
    const ids = [...new Set(events.flatMap(({ data }) => (data.resourceIds as string[] | undefined) ?? []))];
    const files = await parts.files.getMany(ids);
    for (const { id } of files) await purgeFile(parts, id);
    if (files.length > 0) await deleteDeadBlobs(parts);
  });
}
