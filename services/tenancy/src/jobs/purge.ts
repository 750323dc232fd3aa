import { createPeriodic, type Periodic, runEach } from '@commonplace/kit/jobs';
import { type Collection, LostRace, type StoredRecord } from '@commonplace/kit/store';
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
    removeAll(parts, parts.connectors.authorizations, await parts.connectors.staleAuthorizations(parts.now()));
  await runEach([purgeOrgs, () => rewrapSecrets(parts), removeAuthorizations], async (work) => {
    if (!signal?.aborted) await work();
  });
  return purged;
}

/** Number of records that one unit of work deletes. */
const BATCH = 500;

/** Purges an Org. It deletes the Org's record last, so that an interrupted purge is found again. */
async function purgeOrg(parts: Parts, org: Org): Promise<void> {
  for (const workspace of await parts.workspaces.ofOrg(org.id)) await purgeWorkspace(parts, workspace);
  await removeAll(parts, parts.invitations.records, await parts.invitations.ofTenant(org.id));
  for (;;) {
    const members = await parts.orgMembers.records.find({ where: { orgId: org.id }, limit: BATCH });
    if (members.length === 0) break;
    await removeAll(parts, parts.orgMembers.records, members);
  }
  for (;;) {
    const groups = await parts.groups.records.find({ where: { orgId: org.id }, limit: BATCH });
    if (groups.length === 0) break;
    for (const { id } of groups) await removePlaces(parts, id);
    await removeAll(parts, parts.groups.records, groups);
  }
  await purgeCredits(parts.store, org.id);
  const work = parts.store.begin();
  work.remove(parts.orgs.records, org);
  publishOrg(publishing(work), 'purged', org);
  await work.commit();
}

async function purgeWorkspace(parts: Parts, workspace: Workspace): Promise<void> {
  await removeAll(parts, parts.workspaceMembers.records, await parts.workspaceMembers.ofWorkspace(workspace.id));
  await removeAll(parts, parts.pinLists.records, await parts.pinLists.ofWorkspace(workspace.id));
  const { connectors } = parts;
  await removeAll(parts, connectors.authorizations, await connectors.authorizationsIn(workspace.id));
  await disconnectAll(parts, await connectors.connectionsIn(workspace.id));
  await removeAll(parts, connectors.records, await connectors.ofWorkspace(workspace.id));
  const work = parts.store.begin();
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

async function removeAll<T extends StoredRecord>(
  { store }: Parts,
  collection: Collection<T>,
  records: readonly T[],
): Promise<void> {
  for (let from = 0; from < records.length; from += BATCH) {
    const work = store.begin();
    for (const record of records.slice(from, from + BATCH)) work.remove(collection, record);
    await work.commit();
  }
}
