import { createEnvelope } from '@commonplace/kit/secrets';
import { contracts } from '@commonplace/platform/contracts';
import { createMembershipCache } from '@commonplace/platform/memberships';
import { openOutgoingGuard } from '@commonplace/platform/outgoing';
import { defineService, openClients, type ServiceModule, type StartedModule } from '@commonplace/platform/runtime';
import { config } from './config.js';
import { openDefinitions } from './definitions/open.js';
import { migrations } from './migrations.js';
import { PEERS, type Shared } from './parts.js';
import { openRuns } from './runs/engine/open.js';
import { openRunsOfAutomations } from './runs/queued.js';
import { openSchedules } from './schedules/open.js';
import { openHooks } from './triggers/hooks.js';
import { openTriggers } from './triggers/open.js';
import { openWorkDirectory } from './work-directory.js';
import { openWorkItems } from './work-items/open.js';

/** Creates the service module. `clock` returns epoch milliseconds; it is the clock of the store when absent. */
export function createAutomations(clock?: () => number): ServiceModule {
  return defineService({
    name: 'automations',
    config,
    stores: true,
    migrations,
    calls: Object.values(PEERS),
    reachesInternet: true,
    async start(host) {
      const { store, log, bus } = host;
      const now = clock ?? (() => store.now());
      const settings = host.settings(config);
      const { systemCall } = host;
      const peers = openClients(host, PEERS);
      const { directory } = peers;
      const shared: Shared = {
        ...{ settings, log, store, bus, now, systemCall, peers },
        memberships: await createMembershipCache(directory, bus),
        guard: await openOutgoingGuard({ settings, directory, bus, systemCall }),
        envelope: createEnvelope(settings.secretsKey),
      };
      const definitions = await openDefinitions(shared, await openRunsOfAutomations(shared));
      const runs = await openRuns(shared);
      const features: StartedModule[] = [
        await openWorkItems(shared),
        runs,
        await openTriggers(shared),
        await openHooks(shared),
        await openSchedules(shared),
      ];
      const workDirectory = await openWorkDirectory(shared);
      return {
        implementations: [
          workDirectory,
          { contract: contracts.automations, handlers: { ...definitions, ...runs.handlers } },
          ...features.flatMap(({ implementations }) => implementations),
        ],
        runs: [shared.guard, ...features.flatMap(({ runs = [] }) => runs)],
        consume: () => features.flatMap(({ consume }) => consume?.() ?? []),
      };
    },
  });
}

export const automations = createAutomations();
