import { newId } from '@commonplace/kit/id';
import { createOwnIds } from '@commonplace/kit/installation';
import { openCollections } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import type { Host } from '@commonplace/platform/runtime';
import { guardBlobs } from '../blobs/guarded.js';
import { openBlobStore } from '../blobs/open.js';
import { countMissing } from '../blobs/port.js';
import type { Settings } from '../config.js';
import { STORAGE_RECORDS, type SweepParts } from './parts.js';
import { sweepCollection } from './sweep.js';

/** Opens the store of bytes and the collections that describe what is in it. */
export async function openStorage(host: Host<typeof contracts.fileNodes>, settings: Settings): Promise<SweepParts> {
  const { store, log } = host;
  const bytes = await openBlobStore(settings, host.dataDir);
  return {
    settings,
    store,
    ...(await openCollections(store, STORAGE_RECORDS)),
    sweeps: await store.collection(sweepCollection),
    bytes: countMissing(settings.s3Url === undefined ? guardBlobs(bytes, await host.openSpace()) : bytes),
    installationId: host.installationId,
    holdsStores: host.holdsStores,
    ids: createOwnIds(host.installationId),
    nodes: host.client(contracts.fileNodes),
    process: newId(),
    systemCall: host.systemCall,
    log,
  };
}
