import { contracts } from '@commonplace/platform/contracts';
import { createMembershipCache } from '@commonplace/platform/memberships';
import { openOutgoingGuard } from '@commonplace/platform/outgoing';
import { defineService, implement } from '@commonplace/platform/runtime';
import { createArchiveHandlers } from './archives/handlers/archives.js';
import { archiveCollection, stepCollection } from './archives/records.js';
import { createArchiveExpiry, openArchiveQueue } from './archives/runner.js';
import { openBlobInstallation } from './blobs/open.js';
import { config } from './config.js';
import { createTokens } from './domain/tokens.js';
import { createDownloadHandlers } from './downloads/handlers/downloads.js';
import { createImportUploads } from './imports/acts/receive-upload.js';
import { createImportHandlers } from './imports/handlers/imports.js';
import { watchPurges } from './imports/jobs/purges.js';
import { openImportQueue, openRemovalQueue } from './imports/jobs/runner.js';
import { openImportParts } from './imports/open.js';
import { IMPORT_PEERS } from './imports/parts.js';
import { importCollection } from './imports/stores/records.js';
import { broadcastImports } from './imports/topic.js';
import { MEDIA_DEFAULTS, openMedia } from './media/index.js';
import { migrations } from './migrations.js';
import { createBackground } from './storage/background.js';
import { createStorageHandlers } from './storage/handlers/storage.js';
import { openStorage } from './storage/open.js';
import { keyCollection, receiptCollection } from './storage/records.js';
import { signingKey } from './storage/signing-key.js';
import { createFileTextHandlers } from './texts/handlers/file-texts.js';
import { createFileHandlers } from './uploads/handlers/files.js';
import { createUploadHandlers } from './uploads/handlers/uploads.js';
import type { UploadParts } from './uploads/parts.js';
import { forgetPurged } from './uploads/purged.js';
import { openUploadQueue } from './uploads/runner.js';
import { createSweeper } from './uploads/sweeper.js';

/** Defines the service that stores the bytes of files: uploads, content types, downloads. */
export const files = defineService({
  name: 'files',
  config,
  stores: true,
  migrations,
  storesFiles: true,
  calls: [
    ...Object.values(IMPORT_PEERS),
    contracts.fileNodes,
    contracts.index,
    contracts.orgs,
    contracts.treeExports,
    contracts.workspaces,
  ],
  reachesInternet: true,
  boundStores: async ({ settings, dataDir }) => [await openBlobInstallation(settings(config), dataDir)],
  async start(host) {
    const settings = host.settings(config);
    const { store, log, bus, systemCall } = host;
    const directory = host.client(contracts.directory);
    const background = createBackground(log);
    const tokens = createTokens(await signingKey(store, await store.collection(keyCollection)));
    const guard = await openOutgoingGuard({ settings, directory, bus, systemCall });
    const media = openMedia({
      processes: settings.mediaProcesses,
      maxWaitingPerTenant: settings.mediaWaiting,
      textTimeoutMs: settings.mediaSeconds * 1000,
      thumbnailTimeoutMs: Math.min(MEDIA_DEFAULTS.thumbnailTimeoutMs, settings.mediaSeconds * 1000),
    });
    const sweepParts = await openStorage(host, settings);
    const usageParts = {
      ...sweepParts,
      orgs: host.client(contracts.orgs),
      workspaces: host.client(contracts.workspaces),
      index: host.client(contracts.index),
    };
    const archiveParts = {
      ...sweepParts,
      tokens,
      archives: await store.collection(archiveCollection),
      archiveSteps: await store.collection(stepCollection),
      treeExports: host.client(contracts.treeExports),
      auth: host.client(contracts.auth),
    };
    const textParts = { ...sweepParts, media, background: background.run };
    const downloadParts = { ...sweepParts, tokens, media, archives: archiveParts.archives };
    const imports = await store.collection(importCollection);
    const uploadQueue = await openUploadQueue({ store, log, partsOf: () => uploadParts });
    const uploadParts: UploadParts = {
      ...textParts,
      tokens,
      guard,
      uploads: uploadQueue.collection,
      receipts: await store.collection(receiptCollection),
      uploadQueue,
      importUploads: createImportUploads({ ...sweepParts, imports }),
    };
    const memberships = await createMembershipCache(directory, bus);
    const importParts = await openImportParts({ ...uploadParts, imports }, host, memberships);
    const sweeperParts = { ...sweepParts, ...uploadParts };
    const uploads = createUploadHandlers(uploadParts);
    const importQueue = await openImportQueue(importParts);
    const removals = await openRemovalQueue(importParts);
    const archives = await openArchiveQueue(archiveParts);
    return {
      implementations: [
        implement(contracts.files, createFileHandlers(uploadParts)),
        implement(contracts.storage, createStorageHandlers(usageParts)),
        implement(contracts.bytes, { ...createDownloadHandlers(downloadParts), ...uploads }),
        implement(contracts.imports, createImportHandlers(importParts)),
        implement(contracts.archives, createArchiveHandlers(archiveParts)),
        implement(contracts.fileTexts, createFileTextHandlers(textParts)),
      ],
      runs: [
        sweepParts.bytes,
        guard,
        background,
        media,
        createSweeper(sweeperParts),
        uploadQueue,
        uploads,
        removals,
        settings.importWorkers > 0 ? importQueue : { close: () => importQueue.close() },
        archives,
        createArchiveExpiry(archiveParts),
        { close: broadcastImports(store, bus) },
      ],
      consume: () => [forgetPurged(sweeperParts, bus), watchPurges(importParts, bus)],
    };
  },
});
