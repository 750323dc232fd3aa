import { contracts } from '@commonplace/platform/contracts';
import { defineService, implement, openClients, type ServiceModule } from '@commonplace/platform/runtime';
import { config } from './config.js';
import { createCreditHandlers } from './credits/handlers/credits.js';
import { createMeteringHandlers } from './credits/handlers/metering.js';
import { watchImports } from './credits/jobs/imports.js';
import { openCreditQueues } from './credits/jobs/index.js';
import { openCreditParts } from './credits/parts.js';
import { createConnectorHandlers } from './handlers/connectors.js';
import { createDirectoryHandlers } from './handlers/directory.js';
import { createGroupHandlers } from './handlers/groups.js';
import { createOrgMemberHandlers } from './handlers/org-members.js';
import { createOrgHandlers } from './handlers/orgs.js';
import { createPinHandlers } from './handlers/pins.js';
import { createWorkspaceMemberHandlers } from './handlers/workspace-members.js';
import { createWorkspaceHandlers } from './handlers/workspaces.js';
import { watchEndedGroups } from './jobs/ended-groups.js';
import { watchLeavers } from './jobs/leavers.js';
import { createPurge } from './jobs/purge.js';
import { watchPurgedItems } from './jobs/purged-items.js';
import { watchReclaimedAccounts } from './jobs/reclaimed-accounts.js';
import { openParts, PEERS } from './parts.js';

/** Creates the service module. `clock` returns epoch milliseconds. */
export function createTenancy(clock: () => number = Date.now): ServiceModule {
  return defineService({
    name: 'tenancy',
    config,
    stores: true,
    calls: Object.values(PEERS),
    reachesInternet: true,
    async start(host) {
      const parts = await openParts({
        store: host.store,
        settings: host.settings(config),
        ...openClients(host, PEERS),
        log: host.log,
        clock,
      });
      const credits = await openCreditParts(parts);
      const creditQueues = await openCreditQueues(credits);
      return {
        implementations: [
          implement(contracts.orgs, { ...createOrgHandlers(parts), ...createOrgMemberHandlers(parts) }),
          implement(contracts.groups, createGroupHandlers(parts)),
          implement(contracts.workspaces, {
            ...createWorkspaceHandlers(parts),
            ...createWorkspaceMemberHandlers(parts),
          }),
          implement(contracts.pins, createPinHandlers(parts)),
          implement(contracts.connectors, createConnectorHandlers(parts)),
          implement(contracts.directory, createDirectoryHandlers(parts)),
          implement(contracts.credits, createCreditHandlers(credits)),
          implement(contracts.metering, createMeteringHandlers(credits)),
        ],
        runs: [parts.guard, createPurge(parts), parts.mailer, ...creditQueues],
        consume: () => [
          watchPurgedItems(parts, host.bus),
          watchLeavers(parts, host.bus),
          watchEndedGroups(parts, host.bus),
          watchReclaimedAccounts(parts, host.bus),
          watchImports(credits, host.bus),
        ],
      };
    },
  });
}

export const tenancy = createTenancy();
