import type { EventBus } from '@commonplace/kit/events';
import type { Store } from '@commonplace/kit/store';
import { importCollection } from './stores/records.js';

/** Returns the topic on which each change of an import is broadcast. */
export function importTopic(importId: string): string {
  return `import.${importId}`;
}

/** Broadcasts each change of an import that this process commits. Returns a function that stops it. */
export function broadcastImports(store: Store, bus: EventBus): () => void {
  return store.onCommit(importCollection.name, (_, ids) => {
    for (const id of new Set(ids)) bus.broadcast(importTopic(id), '');
  });
}
