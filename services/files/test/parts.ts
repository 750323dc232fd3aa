import { join } from 'node:path';
import { openTestDatabase } from '@commonplace/adapters/testing';
import { readConfig } from '@commonplace/kit/config';
import { NotFound } from '@commonplace/kit/errors';
import { openTenantGuard } from '@commonplace/kit/fetch';
import { newId, newRequestId } from '@commonplace/kit/id';
import { createOwnIds } from '@commonplace/kit/installation';
import { createLog } from '@commonplace/kit/log';
import type { FileSummary } from '@commonplace/proto/resources/v1/resource.js';
import { openFolderInstallation, openFolderStore } from '../src/blobs/folder.js';
import type { BlobStore } from '../src/blobs/port.js';
import { config } from '../src/config.js';
import { createTokens } from '../src/domain/tokens.js';
import {
  blobCollection,
  fileCollection,
  intentCollection,
  receiptCollection,
  textCollection,
  uploadCollection,
  usageCollection,
  versionCollection,
} from '../src/storage/records.js';
import { sweepCollection } from '../src/storage/sweep.js';
import type { SweeperParts } from '../src/uploads/parts.js';

export const INSTALLATION = newId();

export interface FakeNode {
  readonly revision: string;
  readonly file: FileSummary | undefined;
}

/** Holds the parts of the service on stores of their own, with a fake tree. */
export interface TestParts {
  readonly parts: SweeperParts;
  /** Nodes of the fake tree, by id. */
  readonly nodes: Map<string, FakeNode>;
  /** Returns the parts of another process on the same stores. */
  other(more?: Partial<SweeperParts>): SweeperParts;
  close(): Promise<void>;
}

export async function openParts(more: Partial<BlobStore> = {}): Promise<TestParts> {
  const log = createLog('silent');
  const database = await openTestDatabase();
  const store = database.store('files');
  const nodes = new Map<string, FakeNode>();
  const guard = openTenantGuard({ listOf: async () => [] });
  await openFolderInstallation(join(database.folder, 'files')).claim(INSTALLATION);
  const bytes = { ...(await openFolderStore(join(database.folder, 'files'))), ...more };
  const parts: SweeperParts = {
    settings: readConfig(config, { COMMONPLACE_SWEEP_GRACE_DAYS: '0' }),
    store,
    files: await store.collection(fileCollection),
    versions: await store.collection(versionCollection),
    blobs: await store.collection(blobCollection),
    uploads: await store.collection(uploadCollection),
    receipts: await store.collection(receiptCollection),
    uploadQueue: { runNow: async () => {} },
    intents: await store.collection(intentCollection),
    texts: await store.collection(textCollection),
    usage: await store.collection(usageCollection),
    sweeps: await store.collection(sweepCollection),
    bytes,
    installationId: INSTALLATION,
    holdsStores: async () => true,
    ids: createOwnIds(INSTALLATION),
    tokens: createTokens(Buffer.from('key')),
    media: undefined as never,
    guard,
    importUploads: { receive: async () => false, fail: async () => {} },
    nodes: playNodes(nodes) as SweeperParts['nodes'],
    process: newId(),
    systemCall: () => ({ metadata: { requestId: newRequestId() }, deadline: Date.now() + 10_000 }),
    background: () => {},
    log,
  };
  return {
    parts,
    nodes,
    other: (changed) => ({ ...parts, process: newId(), ...changed }),
    async close() {
      await guard.close();
      await database.close();
    },
  };
}

/**
 * Imitates the resources service: a new state replaces the old one, and only the node of the given attempt is dropped.
 */
function playNodes(nodes: Map<string, FakeNode>): Partial<SweeperParts['nodes']> {
  return {
    async setFileState({ id, revision, file }) {
      if (!nodes.has(id)) return { found: false };
      nodes.set(id, { revision, file });
      return { found: true };
    },
    async checkFileWriter({ id }) {
      if (!nodes.has(id)) throw NotFound();
      return {};
    },
    async dropFileNode({ id, revision }) {
      if (nodes.get(id)?.revision === revision) nodes.delete(id);
      return {};
    },
  };
}
