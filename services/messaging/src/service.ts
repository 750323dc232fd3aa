import { contracts } from '@commonplace/kit/contracts';
import type { Subscription } from '@commonplace/kit/events';
import { createMembershipCache } from '@commonplace/kit/memberships';
import { implement, type ServiceModule } from '@commonplace/kit/runtime';
import { config } from './config.js';
import { watchEvents, watchPurges } from './events.js';
import { createNotificationHandlers } from './handlers/notifications.js';
import { createRetention } from './jobs/retention.js';
import type { Parts } from './parts.js';
import { notificationCollection, seenEventCollection } from './stores/notifications.js';

/** `now` gives epoch milliseconds. */
export function createMessaging(now: () => number = Date.now): ServiceModule {
  return {
    name: 'messaging',
    config,
    stores: true,
    async start(host) {
      const { store, log } = host;
      const parts: Parts = {
        settings: host.settings(config),
        log,
        store,
        notifications: await store.collection(notificationCollection),
        seenEvents: await store.collection(seenEventCollection),
        memberships: await createMembershipCache(host.client(contracts.directory), host.bus),
        index: host.client(contracts.index),
        now,
      };
      const retention = createRetention(parts);
      let subscriptions: readonly Subscription[] = [];
      return {
        implementations: [implement(contracts.notifications, createNotificationHandlers(parts))],
        begin: async () => {
          subscriptions = await Promise.all([watchEvents(parts, host.bus), watchPurges(parts, host.bus)]);
          retention.start();
        },
        drain: async () => {
          for (const subscription of subscriptions) await subscription.close();
        },
        close: () => retention.close(),
      };
    },
  };
}

export const messaging = createMessaging();
