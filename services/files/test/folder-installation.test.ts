import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@commonplace/kit/id';
import { installationContract } from '@commonplace/kit/testing';
import { openFolderInstallation, openFolderStore } from '../src/blobs/folder.js';
import { blobKey } from '../src/domain/layout.js';

installationContract('a folder of blobs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-blobs-'));
  return {
    open: async () => openFolderInstallation(folder),
    async fill() {
      const store = await openFolderStore(folder);
      await store.put(blobKey(newId()), [Buffer.from('x')]);
      await store.close();
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
});
