import { createPeriodic, type Periodic, runEach } from '@commonplace/kit/jobs';
import { findEach, LostRace, removeAll } from '@commonplace/kit/store';
import { disconnect } from '../acts/disconnect.js';
import { DAY_MS } from '../config.js';
import { purgeCredits } from '../credits/jobs/purge.js';
import { publishing, publishOrg, publishWorkspace } from '../events.js';
import type { Parts } from '../parts.js';
import type { Connection } from '../stores/connectors.js';
import type { Org } from '../stores/orgs.js';
import type { Workspace } from '../stores/workspaces.js';
import { removePlaces } from './ended-groups.js';
import { rewrapSecrets } from './secrets.js';

/**
 * Creates the daily job that purges Orgs whose scheduled deletion is due; the next run continues what a crash
 * interrupts. It also deletes expired authorizations, and re-encrypts secrets with the current master key.
 */
export function createPurge(parts: Parts): Periodic {
  const { log } = parts;
  return createPeriodic({ name: 'tenancy.purge', everyMs: DAY_MS, log, run: (signal) => runPurge(parts, signal) });
}

/** Purges the Orgs that are due now. Returns the number of purged Orgs. */
export async function runPurge(parts: Parts, signal?: AbortSignal): Promise<number> {
  let purged = 0;
  const purgeOrgs = async () =>
    runEach(await parts.orgs.toPurge(parts.now()), async (org) => {
      if (signal?.aborted) return;
      try {
        await purgeOrg(parts, org);
        purged++;
      } catch (error) {
        // Another replica purges the Org, or its owner has just restored it.
        if (!(error instanceof LostRace)) throw error;
      }
    });
  const removeAuthorizations = async () =>
    removeAll(parts.store, parts.connectors.authorizations, { expiresAt: { lte: parts.now() } });
  await runEach([purgeOrgs, () => rewrapSecrets(parts), removeAuthorizations], async (work) => {
    if (!signal?.aborted) await work();
  });
  return purged;
}

/** Number of groups that one query reads. */
const BATCH = 500;

/** Purges an Org. It deletes the Org's record last, so that an interrupted purge is found again. */
async function purgeOrg(parts: Parts, org: Org): Promise<void> {
  for (const workspace of await parts.workspaces.ofOrg(org.id)) await purgeWorkspace(parts, workspace);
  await removeAll(parts.store, parts.invitations.records, { tenant: org.id });
  await removeAll(parts.store, parts.orgMembers.records, { orgId: org.id });
  const groups = parts.groups.records;
  for await (const { id } of findEach(groups, { where: { orgId: org.id } }, BATCH)) await removePlaces(parts, id);
  await removeAll(parts.store, groups, { orgId: org.id });
  await purgeCredits(parts.store, org.id);
  const work = parts.store.begin();
  work.remove(parts.orgs.records, org);
  publishOrg(publishing(work), 'purged', org);
  await work.commit();
}

async function purgeWorkspace(parts: Parts, workspace: Workspace): Promise<void> {
  const { store, connectors } = parts;
  const workspaceId = workspace.id;
  await removeAll(store, parts.workspaceMembers.records, { workspaceId });
  await removeAll(store, parts.pinLists.records, { workspaceId });
  await removeAll(store, connectors.authorizations, { workspaceId });
  await disconnectAll(parts, await connectors.connectionsIn(workspaceId));
  await removeAll(store, connectors.records, { workspaceId });
  const work = store.begin();
  work.remove(parts.workspaces.records, workspace);
  publishWorkspace(publishing(work), 'purged', workspace);
  await work.commit();
}

/** Connections that one unit of work deletes, after their grants were revoked at the external systems. */
const CONNECTIONS = 50;

async function disconnectAll(parts: Parts, connections: readonly Connection[]): Promise<void> {
  for (let from = 0; from < connections.length; from += CONNECTIONS) {
    const work = parts.store.begin();
    await disconnect(parts, publishing(work), connections.slice(from, from + CONNECTIONS));
    await work.commit();
  }
}
