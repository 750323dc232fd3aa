import { openDepartures } from '@commonplace/platform/departures';
import type { StartedModule } from '@commonplace/platform/runtime';
import { automationCollection, definitionCollection } from '../definitions/records.js';
import type { Shared } from '../parts.js';
import { laneCollection, runCollection } from '../runs/records.js';
import { ActiveTriggers } from './active.js';
import { watchTriggers } from './consumer.js';
import { openContentTurns } from './contents.js';
import { type FollowParts, watchLateAutomations, watchLeavers } from './followers.js';
import { watchPurges } from './purge.js';
import { type StartParts, startRuns } from './start-runs.js';

/** Opens the feature that starts automations on events, and that follows changes of tenants and their members. */
export async function openTriggers(shared: Shared): Promise<StartedModule> {
  const { store, bus, settings } = shared;
  const automations = await store.collection(automationCollection);
  const definitions = await store.collection(definitionCollection);
  const records = {
    ...{ settings, runs: await store.collection(runCollection) },
    lanes: await store.collection(laneCollection),
  };
  const active = new ActiveTriggers({ store, bus, automations });
  const parts: StartParts = { ...shared, automations, records, active };
  const turns = await openContentTurns({ ...shared, start: (events) => startRuns(parts, events) });
  const departures = await openDepartures(store, shared.now);
  const followed: FollowParts = { ...shared, automations, definitions, departures };
  return {
    implementations: [],
    runs: [active, turns],
    consume: () => [
      watchTriggers({ ...parts, store, turns: turns.collection }, bus),
      watchLeavers(followed, bus),
      watchLateAutomations(followed, bus),
      watchPurges(store, bus),
    ],
  };
}
