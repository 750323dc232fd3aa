import type { EventBus, Subscription } from '@commonplace/kit/events';
import { consumeBatches } from '@commonplace/platform/events';
import { deleteDeadBlobs } from '../storage/release.js';
import type { SweeperParts } from './parts.js';
import { purgeFile } from './purge.js';

/** Deletes files when the tree reports that their nodes were purged. */
export function forgetPurged(parts: SweeperParts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'files-purged', events: ['resources.resource.purged'], batch: 50 } as const;
  return consumeBatches(bus, spec, async (events) => {
    const ids = [...new Set(events.flatMap(({ data }) => data.resourceIds))];
    const files = await parts.files.getMany(ids);
    for (const { id } of files) await purgeFile(parts, id);
    if (files.length === 0) return;
    // The sweeper retries what an unavailable bucket prevents.
    await deleteDeadBlobs(parts).catch((error) => parts.log.warn('files.bytes_not_deleted', { error }));
  });
}
