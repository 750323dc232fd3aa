import type { EventBus, Subscription } from '@commonplace/kit/events';
import { removeAll, type Store } from '@commonplace/kit/store';
import { consume } from '@commonplace/platform/events';
import { eraseMemories } from './memories/erase.js';
import type { Parts } from './parts.js';
import { runTopic, writeSignal } from './runs/topic.js';
import { runCollection, runEventCollection } from './stores/runs.js';

/** Broadcasts each change of a run that this process commits. Returns a function that stops it. */
export function broadcastRuns(store: Store, bus: Pick<EventBus, 'broadcast'>): () => void {
  const changed = writeSignal({ kind: 'changed' });
  const broadcast = (runIds: Iterable<string>) => {
    for (const id of new Set(runIds)) bus.broadcast(runTopic(id), changed);
  };
  const unwatch = [
    store.onCommit(runCollection.name, (_, ids) => broadcast(ids)),
    store.onCommit(runEventCollection.name, (_, ids) => broadcast(ids.map((id) => id.split(':')[0] as string))),
  ];
  return () => {
    for (const stop of unwatch) stop();
  };
}

/** Deletes the agents, sessions, runs and memories of purged Orgs. */
export function watchPurges(parts: Parts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'agents.purges', events: ['tenancy.org.purged'] } as const;
  return consume(bus, spec, ({ subject }) => purgeTenant(parts, subject));
}

async function purgeTenant(parts: Parts, tenant: string): Promise<void> {
  const all = [
    ...[parts.agents, parts.agentVersions, parts.agentPins, parts.agentRemovals, parts.skillContents],
    ...[parts.runs, parts.steps, parts.runEvents, parts.approvals, parts.deliveries, parts.settlements],
    ...[parts.sessions, parts.messages, parts.removals, parts.memories],
    ...[parts.mcpServers, parts.mcpGrants, parts.mcpAuthorizations, parts.mcpClients],
  ];
  for (const records of all) await removeAll(parts.store, records as never, { tenant });
}

/** Erases the memories of purged workspaces. */
export function watchWorkspacePurges(parts: Pick<Parts, 'memories' | 'store'>, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'agents.workspace_purges', events: ['tenancy.workspace.purged'] } as const;
  return consume(bus, spec, async ({ subject }) => {
    await eraseMemories(parts, { workspaceId: subject });
  });
}
