import type { EventBus, Subscription } from '@commonplace/kit/events';
import { inWork, type Store } from '@commonplace/kit/store';
import { eraseMemories } from './memories/erase.js';
import type { Parts } from './parts.js';
import { runTopic, writeSignal } from './runs/topic.js';
import { runCollection, runEventCollection } from './stores/runs.js';

/** Broadcasts each change of a run that this process commits. Returns a function that stops it. */
export function broadcastRuns(store: Store, bus: Pick<EventBus, 'broadcast'>): () => void {
  const changed = writeSignal({ kind: 'changed' });
  const tell = (runIds: Iterable<string>) => {
    for (const id of new Set(runIds)) bus.broadcast(runTopic(id), changed);
  };
  const unwatch = [
    store.onCommit(runCollection.name, (_, ids) => tell(ids)),
    store.onCommit(runEventCollection.name, (_, ids) => tell(ids.map((id) => id.split(':')[0] as string))),
  ];
  return () => {
    for (const stop of unwatch) stop();
  };
}

const CHUNK = 200;

/** Deletes the agents, sessions, runs and memories of an Org that has been purged. */
export function watchPurges(parts: Parts, bus: EventBus): Promise<Subscription> {
  const options = { consumer: 'agents.purges', types: ['commonplace.tenancy.org.purged'] };
  return bus.subscribe(options, async (events) => {
    for (const { subject } of events) await purgeTenant(parts, subject);
  });
}

async function purgeTenant(parts: Parts, tenant: string): Promise<void> {
  const all = [
    ...[parts.agents, parts.agentVersions, parts.agentPins, parts.agentRemovals, parts.skillContents],
    ...[parts.runs, parts.steps, parts.runEvents, parts.approvals, parts.deliveries, parts.settlements],
    ...[parts.sessions, parts.messages, parts.removals, parts.memories],
    ...[parts.mcpServers, parts.mcpGrants, parts.mcpAuthorizations, parts.mcpClients],
  ];
  for (const records of all) {
    for (;;) {
      const found = await records.find({ where: { tenant }, limit: CHUNK } as never);
      await inWork(parts.store, async (work) => {
        for (const record of found) work.remove(records as never, record as never);
      });
      if (found.length < CHUNK) break;
    }
  }
}

/** Erases the memories of a workspace that has been purged. */
export function watchWorkspacePurges(parts: Pick<Parts, 'memories' | 'store'>, bus: EventBus): Promise<Subscription> {
  const options = { consumer: 'agents.workspace_purges', types: ['commonplace.tenancy.workspace.purged'] };
  return bus.subscribe(options, async (events) => {
    for (const { subject } of events) await eraseMemories(parts, { workspaceId: subject });
  });
}
