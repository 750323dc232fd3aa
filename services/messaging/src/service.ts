import type { CallContext } from '@commonplace/kit/rpc';
import { openCollections } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { openDepartures } from '@commonplace/platform/departures';
import { openMailer, openMailLimit } from '@commonplace/platform/mail';
import { createMembershipCache } from '@commonplace/platform/memberships';
import { defineService, implement, type ServiceModule } from '@commonplace/platform/runtime';
import { watchAudited } from './audit/events.js';
import { createAuditHandlers } from './audit/handlers.js';
import { openAuditLimits } from './audit/limits.js';
import { auditCollection } from './audit/records.js';
import { config } from './config.js';
import { createAccessHandlers } from './conversations/handlers/access.js';
import { createConversationHandlers } from './conversations/handlers/conversations.js';
import { createMessageHandlers } from './conversations/handlers/messages.js';
import { watchLateMembers, watchLeavers } from './conversations/leavers.js';
import { openMentionRunQueue } from './conversations/mention-runs.js';
import { watchMessages } from './conversations/notify.js';
import { openAgentDirectory, openConversationQuota } from './conversations/open.js';
import { RECORDS } from './conversations/parts.js';
import { openRemovalQueue } from './conversations/removal.js';
import { openRetentionQueue } from './conversations/retention.js';
import { conversationNames } from './conversations/target-names.js';
import { openEventStreams } from './events/service.js';
import { watchEvents } from './notifications/events.js';
import { createNotificationHandlers } from './notifications/handlers.js';
import { notificationCollection, seenEventCollection } from './notifications/records.js';
import { watchPurges } from './purge.js';

/** Creates the service module. `now` returns epoch milliseconds. */
export function createMessaging(now: () => number = Date.now): ServiceModule {
  return defineService({
    name: 'messaging',
    config,
    stores: true,
    calls: [
      contracts.agentDirectory,
      contracts.auth,
      contracts.conversationRuns,
      contracts.directory,
      contracts.index,
      contracts.workDirectory,
    ],
    async start(host) {
      const { store, log } = host;
      const settings = host.settings(config);
      const { smtpUrl, mailFrom, publicUrl } = settings;
      const records = await openCollections(store, RECORDS);
      const auditEvents = await store.collection(auditCollection);
      const own = {
        ...{ ...records, settings, log, store, now, auditEvents },
        agents: openAgentDirectory(host.client(contracts.agentDirectory)),
        notifications: await store.collection(notificationCollection),
        seenEvents: await store.collection(seenEventCollection),
        auditLimits: await openAuditLimits({ settings, store, auditEvents, now }),
        memberships: await createMembershipCache(host.client(contracts.directory), host.bus),
        departures: await openDepartures(store, now),
        index: host.client(contracts.index),
        work: host.client(contracts.workDirectory),
        users: host.client(contracts.auth),
        directory: host.client(contracts.directory),
        conversationQuota: await openConversationQuota(store, records, settings),
        mailer: await openMailer({ service: 'messaging', store, log, now, smtpUrl, mailFrom, publicUrl }),
        mailLimit: await openMailLimit({ store, now, perAddress: settings.mentionMails }),
        systemCall: () => host.systemCall(),
      };
      const parts = {
        ...own,
        conversationNames: (ids: readonly string[], context: CallContext) => conversationNames(own, ids, context),
      };
      const retention = await openRetentionQueue(parts);
      const removals = await openRemovalQueue(parts);
      const mentionRuns = await openMentionRunQueue(parts, host.client(contracts.conversationRuns));
      const access = createAccessHandlers(parts);
      const events = await openEventStreams({
        ...parts,
        bus: host.bus,
        conversations: {
          membershipsOf: async (pairs, context) =>
            (await access.checkMembers({ pairs: [...pairs] }, context)).standings,
          presentMessages: async (ids) => {
            const found = await own.messages.getMany(ids);
            return new Set(found.filter(({ deletedAt }) => deletedAt === undefined).map(({ id }) => id));
          },
          countsOf: (conversationId, context) => access.getCounts({ conversationId }, context),
        },
      });
      return {
        implementations: [
          implement(contracts.notifications, createNotificationHandlers(parts)),
          implement(contracts.auditEvents, createAuditHandlers(parts)),
          implement(contracts.conversations, createConversationHandlers(parts)),
          implement(contracts.messages, createMessageHandlers(parts, mentionRuns)),
          implement(contracts.conversationAccess, access),
          implement(contracts.eventStreams, events.handlers),
        ],
        runs: [parts.mailer, retention, removals, mentionRuns, ...events.runs],
        consume: () => [
          watchEvents(parts, host.bus),
          watchPurges({ ...parts, streamed: events.records }, host.bus),
          watchAudited(parts, host.bus),
          watchMessages(parts, host.bus),
          watchLeavers(parts, host.bus),
          watchLateMembers(parts, host.bus),
          ...events.consume(),
        ],
      };
    },
  });
}

export const messaging = createMessaging();
