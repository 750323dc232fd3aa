import { createEvent, systemActor } from '@commonplace/kit/events';
import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import type { AgentRecord } from '../stores/agents.js';
import type { McpServerRecord } from '../stores/mcp-servers.js';
import type { McpFailure } from './failure.js';
import type { McpParts } from './parts.js';

type OutcomeParts = Pick<McpParts, 'store' | 'agents' | 'mcpServers' | 'settings'>;

/**
 * Records how a call of a tool ended. Consecutive failures switch the server off; if the server does not know the tool
 * any more, the tools are listed again.
 */
export async function noteOutcome(
  parts: OutcomeParts,
  { id, failureCount, status, perUserAuth }: McpServerRecord,
  failure: McpFailure | undefined,
): Promise<void> {
  const counts = failure?.kind === 'unreachable' || failure?.kind === 'refused';
  const needsOwner = failure?.kind === 'auth' && !perUserAuth;
  const isWell = failureCount === 0 && status === 'connected';
  if (!counts && !needsOwner && failure?.kind !== 'missing' && isWell) return;
  await inWork(parts.store, async (work) => {
    const server = await work.get(parts.mcpServers, id);
    if (server === undefined || !server.isActive) return;
    if (counts) {
      await failed(parts, work, server, failure, {});
      return;
    }
    const worked = failure === undefined || failure.kind === 'answered';
    work.replace(parts.mcpServers, server, {
      ...server,
      ...(worked && { failureCount: 0, status: 'connected' as const, lastError: undefined }),
      ...(needsOwner && { status: 'auth_required' as const, lastError: failure.message }),
      ...(failure?.kind === 'missing' && { probeAt: new Date().toISOString() }),
    });
  });
}

/**
 * Writes a failure to a server. After too many in a row it switches the server off and notifies the owner of the agent.
 */
export async function failed(
  { agents, mcpServers, settings }: Omit<OutcomeParts, 'store'>,
  work: UnitOfWork,
  server: McpServerRecord,
  { message }: McpFailure,
  change: Partial<McpServerRecord>,
): Promise<McpServerRecord> {
  const failureCount = server.failureCount + 1;
  const isOff = failureCount >= settings.mcpFailures;
  const after = work.replace(mcpServers, server, {
    ...server,
    ...{ failureCount, status: 'error', lastError: message, ...change },
    ...(isOff && { isActive: false, probeAt: undefined }),
  });
  const agent = isOff ? await work.get(agents, server.agentId) : undefined;
  if (agent !== undefined) work.publish(disabledEvent(agent, after));
  return after;
}

function disabledEvent({ id: agentId, name: agentName, ownerId, orgId, tenant }: AgentRecord, server: McpServerRecord) {
  const data = {
    ...{ agentId, agentName, serverName: server.name, host: new URL(server.url).hostname },
    ...{ reason: server.lastError ?? '', notifyUserIds: [ownerId], orgId },
  };
  const actor = systemActor('agents');
  return createEvent({ service: 'agents', type: 'mcp_server.disabled', subject: server.id, data, tenant, actor });
}
