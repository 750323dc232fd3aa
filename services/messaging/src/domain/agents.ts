import type { DomainEvent } from '@commonplace/kit/events';
import { type Draft, idsIn, textIn } from './draft.js';

/** Returns the draft for the people to notify of an MCP server that was switched off after failures. */
export function mcpServerDisabled(event: DomainEvent): Draft[] {
  const { agentId, agentName, serverName, notifyUserIds, orgId } = event.data;
  const to = idsIn(notifyUserIds);
  if (to.length === 0) return [];
  return [
    {
      type: 'mcp_server_disabled',
      to,
      groupKey: `mcp_server:${event.subject}`,
      target: { type: 'agent', id: textIn(agentId) },
      orgId: textIn(orgId) || undefined,
      facts: { mcpServer: { name: textIn(serverName), agent: textIn(agentName) } },
    },
  ];
}
