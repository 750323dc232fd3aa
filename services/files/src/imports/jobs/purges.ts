import type { EventBus, Subscription } from '@commonplace/kit/events';
import { consume } from '@commonplace/platform/events';
import { removeImportsOf } from '../acts/remove-import.js';
import type { ImportParts } from '../parts.js';

/** Deletes the imports of purged workspaces, with their items, reports and sources. */
export function watchPurges(parts: ImportParts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'files.purges', events: ['tenancy.workspace.purged'] } as const;
  return consume(bus, spec, ({ subject }) => removeImportsOf(parts, subject));
}
