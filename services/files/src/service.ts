import { contracts } from '@commonplace/kit/contracts';
import { openGuard } from '@commonplace/kit/fetch';
import { newId } from '@commonplace/kit/id';
import { createMembershipCache } from '@commonplace/kit/memberships';
import { implement, type ServiceModule } from '@commonplace/kit/runtime';
import { createArchiveHandlers } from './archives/handlers.js';
import type { ArchiveParts } from './archives/parts.js';
import { archiveCollection, stepCollection } from './archives/records.js';
import { createArchiveRunner } from './archives/runner.js';
import { openBlobStore } from './blobs/open.js';
import { config } from './config.js';
import { createTokens } from './domain/tokens.js';
import { createDownloadHandlers } from './handlers/downloads.js';
import { createFileTextHandlers } from './handlers/file-texts.js';
import { createFileHandlers } from './handlers/files.js';
import { createImportHandlers } from './handlers/imports.js';
import type { StorageParts } from './handlers/storage.js';
import { createStorageHandlers } from './handlers/storage.js';
import { createUploadHandlers } from './handlers/uploads.js';
import { createImportRunner } from './imports/jobs/runner.js';
import { openImportParts } from './imports/open.js';
import { importCollection } from './imports/stores/records.js';
import { createBackground } from './jobs/background.js';
import { forgetPurged } from './jobs/purged.js';
import { createRunner } from './jobs/runner.js';
import { createSweeper } from './jobs/sweeper.js';
import { openMedia } from './media/index.js';
import { takeLeases } from './stores/lease.js';
import {
  blobCollection,
  fileCollection,
  intentCollection,
  keyCollection,
  textCollection,
  uploadCollection,
  usageCollection,
  versionCollection,
} from './stores/records.js';
import { signingKey } from './stores/signing-key.js';

/** The bytes of files: how they come in, what they are, how they go out. */
export const files: ServiceModule = {
  name: 'files',
  config,
  stores: true,
  async start(host) {
    const settings = host.settings(config);
    const { store, log } = host;
    const key = await signingKey(store, await store.collection(keyCollection));
    const background = createBackground(log);
    const parts: StorageParts & ArchiveParts = {
      settings,
      store,
      files: await store.collection(fileCollection),
      versions: await store.collection(versionCollection),
      blobs: await store.collection(blobCollection),
      uploads: await store.collection(uploadCollection),
      intents: await store.collection(intentCollection),
      texts: await store.collection(textCollection),
      usage: await store.collection(usageCollection),
      imports: await store.collection(importCollection),
      bytes: await openBlobStore(settings, host.dataDir),
      tokens: createTokens(key),
      media: openMedia(),
      guard: openGuard({ allowlist: settings.urlAllowlist }),
      archives: await store.collection(archiveCollection),
      archiveSteps: await store.collection(stepCollection),
      treeExports: host.client(contracts.treeExports),
      auth: host.client(contracts.auth),
      nodes: host.client(contracts.fileNodes),
      orgs: host.client(contracts.orgs),
      workspaces: host.client(contracts.workspaces),
      index: host.client(contracts.index),
      process: newId(),
      systemCall: host.systemCall,
      background: background.run,
      log,
    };
    const uploads = createUploadHandlers(parts);
    const runner = createRunner(parts);
    const sweeper = createSweeper(parts);
    const memberships = await createMembershipCache(host.client(contracts.directory), host.bus);
    const importParts = await openImportParts(parts, host, memberships);
    const imports = createImportRunner(importParts);
    const archives = createArchiveRunner(parts);
    let purges: { close(): Promise<void> } | undefined;
    return {
      implementations: [
        implement(contracts.files, createFileHandlers(parts)),
        implement(contracts.storage, createStorageHandlers(parts)),
        implement(contracts.bytes, { ...createDownloadHandlers(parts), ...uploads }),
        implement(contracts.imports, createImportHandlers(importParts, imports)),
        implement(contracts.archives, createArchiveHandlers(parts, archives.look)),
        implement(contracts.fileTexts, createFileTextHandlers(parts)),
      ],
      begin: async () => {
        if (parts.bytes.exclusive) await takeLeases(parts);
        sweeper.begin();
        runner.begin();
        await imports.begin();
        await archives.begin();
        purges = await forgetPurged(parts, host.bus);
      },
      close: async () => {
        await purges?.close();
        await imports.close();
        await uploads.close();
        await sweeper.close();
        await runner.close();
        await archives.close();
        await parts.media.close();
        await background.close();
        await parts.guard.close();
        await parts.bytes.close();
      },
    };
  },
};
