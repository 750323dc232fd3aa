import { openQueue, type Queue } from '@commonplace/kit/jobs';
import { inWork, removeAll } from '@commonplace/kit/store';
import { eraseMemories } from '../memories/erase.js';
import type { Parts } from '../parts.js';
import { cancelRun } from '../runs/cancel.js';
import { type AgentRemovalRecord, agentRemovalQueue } from '../stores/agent-removals.js';
import { LIVE } from '../stores/runs.js';

type RemovalParts = Omit<Parts, 'agentRemovals' | 'removals'>;

const CHUNK = 200;

/** Opens the queue that removes what deleted agents leave. */
export function openAgentRemovalQueue(parts: RemovalParts): Promise<Queue<AgentRemovalRecord>> {
  const { store, log } = parts;
  return openQueue<AgentRemovalRecord>({
    ...{ store, log, spec: agentRemovalQueue, concurrency: 2 },
    async run(job) {
      const agentId = job.record.id;
      await cancelRunsOf(parts, agentId, 'agent_deleted');
      // Active runs may still read their version; before each call they find that the agent is gone.
      await removeAll(parts.store, parts.agentVersions, { agentId });
      await removeAll(parts.store, parts.skillContents, { agentId });
      await removeAll(parts.store, parts.agentPins, { id: agentId });
      await eraseMemories(parts, { agentId });
      await removeMcpServers(parts, agentId);
      await job.remove();
    },
  });
}

/** Deletes the MCP servers of an agent, after their authorizations, grants and registrations. */
async function removeMcpServers(parts: RemovalParts, agentId: string): Promise<void> {
  const servers = await parts.mcpServers.find({ where: { agentId }, limit: CHUNK });
  for (const { id: serverId } of servers) {
    // A grant is written with the end of its authorization, so none follows once these are gone.
    await removeAll(parts.store, parts.mcpAuthorizations, { serverId });
    await removeAll(parts.store, parts.mcpGrants, { serverId });
    await removeAll(parts.store, parts.mcpClients, { serverId });
  }
  await removeAll(parts.store, parts.mcpServers, { agentId });
}

/** Cancels the runs of an agent that have not ended. */
async function cancelRunsOf(
  parts: Pick<RemovalParts, 'store' | 'runs'> & Parameters<typeof cancelRun>[0],
  agentId: string,
  reason: string,
): Promise<void> {
  const status = { in: [...LIVE, 'awaiting_approval'].filter((one) => one !== 'canceling') };
  for (;;) {
    const runs = await parts.runs.find({ where: { agentId, status }, anyOrder: true, limit: CHUNK });
    for (const { id } of runs) {
      const effects: (() => void)[] = [];
      await inWork(parts.store, async (work) => {
        effects.length = 0;
        const run = await work.get(parts.runs, id);
        const afterCommit = (effect: () => void) => void effects.push(effect);
        if (run !== undefined) await cancelRun(parts, run, reason, { work, afterCommit });
      });
      for (const effect of effects) effect();
    }
    if (runs.length < CHUNK) return;
  }
}
