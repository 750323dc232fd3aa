import type { EventBus, Subscription } from '@commonplace/kit/events';
import { deleteDeadBlobs } from '../storage/release.js';
import type { SweeperParts } from './parts.js';
import { purgeFile } from './purge.js';

/** Deletes files when the tree reports that their nodes were purged. */
export function forgetPurged(parts: SweeperParts, bus: EventBus): Promise<Subscription> {
  const options = { consumer: 'files-purged', types: ['commonplace.resources.resource.purged'], batch: 50 };
  return bus.subscribe(options, async (events) => {
    const ids = [...new Set(events.flatMap(({ data }) => (data.resourceIds as string[] | undefined) ?? []))];
    const files = await parts.files.getMany(ids);
    for (const { id } of files) await purgeFile(parts, id);
    if (files.length > 0) await deleteDeadBlobs(parts);
  });
}
