import { LimitReached } from '@commonplace/kit/errors';
import { createQuota, type Quota, quotaCollection } from '@commonplace/kit/quota';
import type { Client } from '@commonplace/kit/rpc';
import type { Store } from '@commonplace/kit/store';
import type { AgentDirectoryService } from '@commonplace/proto/agents/v1/agent_directory_service.js';
import type { Settings } from '../config.js';
import type { AgentDirectory, ConversationRecords } from './parts.js';

/** Opens the quota of conversations per tenant. */
export async function openConversationQuota(
  store: Store,
  { conversations }: Pick<ConversationRecords, 'conversations'>,
  settings: Pick<Settings, 'conversations'>,
): Promise<Quota> {
  return createQuota(await store.collection(quotaCollection), {
    name: 'conversations',
    limit: settings.conversations,
    slots: 8,
    count: (tenant) => conversations.count({ tenant }),
    refuse: (limit) => LimitReached({ limit, what: 'conversations' }),
  });
}

/** Creates an agent directory that calls the agents service. */
export function openAgentDirectory(client: Pick<Client<AgentDirectoryService>, 'lookUpAgents'>): AgentDirectory {
  return {
    async find(agentId, { orgId }, { onward }) {
      const { items } = await client.lookUpAgents({ agentIds: [agentId] }, onward);
      return items.find((agent) => agent.id === agentId && agent.isActive && agent.orgId === orgId);
    },
  };
}
