import type { Subscription } from '@commonplace/kit/events';
import type { StartedModule } from './module.js';

/** What a module runs beside its handlers: a queue, a periodic sweep, a server, a connection. */
export interface Lifecycle {
  /** Starts what needs other services. */
  begin?(): unknown;
  /** Stops accepting work; finishes or hands back running work. */
  drain?(): unknown;
  close?(): unknown;
}

/** Returns the lifecycle of a whole module. */
export function lifecycleOf({ runs = [], consume }: StartedModule): Required<Lifecycle> {
  let subscriptions: readonly Subscription[] = [];
  return {
    async begin() {
      for (const each of runs) await each.begin?.();
      subscriptions = await Promise.all(consume?.() ?? []);
    },
    async drain() {
      for (const each of runs) await each.drain?.();
      for (const subscription of subscriptions) await subscription.close();
    },
    async close() {
      for (const each of [...runs].reverse()) await each.close?.();
    },
  };
}
