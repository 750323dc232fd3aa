import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blobContract } from '../src/blobs/contract.js';
import { openFolderStore } from '../src/blobs/folder.js';

const UNSIGNED = 'clients reach a folder through the gateway, which checks tokens of its own';

blobContract(
  'a folder',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'commonplace-blobs-'));
    const store = await openFolderStore(folder);
    return { store, close: async () => rmSync(folder, { recursive: true, force: true }) };
  },
  {
    'signs a URL that reads one key, with headers and ranges': UNSIGNED,
    'signs a URL that accepts only the announced bytes': UNSIGNED,
    'signs URLs of parts': UNSIGNED,
  },
);
