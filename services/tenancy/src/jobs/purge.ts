import { type Collection, LostRace, type StoredRecord } from '@commonplace/kit/store';
import { DAY_MS } from '../config.js';
import { publishOrg, publishWorkspace } from '../events.js';
import type { Parts } from '../parts.js';
import type { Org } from '../stores/orgs.js';
import type { Workspace } from '../stores/workspaces.js';
import { publishing } from './publishing.js';
import { rewrapSecrets } from './secrets.js';

export interface PurgeJob {
  /** Purges what is due now, and sees to the secrets. Gives the number of Orgs that went. */
  run(): Promise<number>;
  /** Runs now and once a day. */
  start(): void;
  /** Stops, and waits for what runs. */
  close(): Promise<void>;
}

/**
 * Ends Orgs whose deletion was scheduled and not undone in time; what a crash cuts short goes on the next time.
 * Authorizations that nobody came back from go, and secrets come under the current master key.
 */
export function createPurgeJob(parts: Parts): PurgeJob {
  let running: Promise<unknown> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function run(): Promise<number> {
    let purged = 0;
    for (const org of await parts.orgs.toPurge(parts.now())) {
      if (closed) break;
      try {
        await purgeOrg(parts, org);
        purged++;
      } catch (error) {
        // Another replica purges it, or its owner restores it at this moment.
        if (!(error instanceof LostRace)) throw error;
      }
    }
    if (closed) return purged;
    await rewrapSecrets(parts);
    await removeAll(parts, parts.connectors.authorizations, await parts.connectors.staleAuthorizations(parts.now()));
    return purged;
  }

  const runSafely = () => {
    running = run().catch((error: unknown) => parts.log.error('org.purge_failed', { error }));
  };

  return {
    run,
    start() {
      runSafely();
      timer = setInterval(runSafely, DAY_MS);
      timer.unref();
    },
    async close() {
      closed = true;
      clearInterval(timer);
      await running;
    },
  };
}

/** Records that one unit deletes. */
const BATCH = 500;

/** The Org itself goes last, so that it is found again until all is done. */
async function purgeOrg(parts: Parts, org: Org): Promise<void> {
  for (const workspace of await parts.workspaces.ofOrg(org.id)) await purgeWorkspace(parts, workspace);
  await removeAll(parts, parts.invitations.records, await parts.invitations.ofTenant(org.id));
  for (;;) {
    const members = await parts.orgMembers.records.find({ where: { orgId: org.id }, limit: BATCH });
    if (members.length === 0) break;
    await removeAll(parts, parts.orgMembers.records, members);
  }
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
  await removeAll(parts, connectors.connections, await connectors.connectionsIn(workspace.id));
  await removeAll(parts, connectors.records, await connectors.ofWorkspace(workspace.id));
  const work = parts.store.begin();
  work.remove(parts.workspaces.records, workspace);
  publishWorkspace(publishing(work), 'purged', workspace);
  await work.commit();
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
