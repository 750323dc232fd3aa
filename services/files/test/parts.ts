import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@commonplace/kit/config';
import { openGuard } from '@commonplace/kit/fetch';
import { newId, newRequestId } from '@commonplace/kit/id';
import { createLog } from '@commonplace/kit/log';
import { openSqliteDatabase } from '@commonplace/kit/store/sqlite';
import type { FileSummary } from '@commonplace/proto/resources/v1/resource.js';
import { openFolderStore } from '../src/blobs/folder.js';
import type { BlobStore } from '../src/blobs/port.js';
import { config } from '../src/config.js';
import { createTokens } from '../src/domain/tokens.js';
import { importCollection } from '../src/imports/stores/records.js';
import type { Parts } from '../src/parts.js';
import {
  blobCollection,
  fileCollection,
  intentCollection,
  textCollection,
  uploadCollection,
  usageCollection,
  versionCollection,
} from '../src/stores/records.js';

export interface FakeNode {
  readonly revision: string;
  readonly file: FileSummary | undefined;
}

/** The parts of the service on stores of their own, with the tree played. */
export interface Played {
  readonly parts: Parts;
  /** The tree's nodes, by id. */
  readonly nodes: Map<string, FakeNode>;
  /** The parts of another process on the same stores. */
  other(more?: Partial<Parts>): Parts;
  close(): Promise<void>;
}

export async function openParts(more: Partial<BlobStore> = {}): Promise<Played> {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-files-'));
  const log = createLog('silent');
  const database = await openSqliteDatabase({ file: join(folder, 'test.db'), log });
  const store = database.store('files');
  const nodes = new Map<string, FakeNode>();
  const guard = openGuard();
  const bytes = { ...(await openFolderStore(join(folder, 'files'))), ...more };
  const parts: Parts = {
    settings: readConfig(config, {}),
    store,
    files: await store.collection(fileCollection),
    versions: await store.collection(versionCollection),
    blobs: await store.collection(blobCollection),
    uploads: await store.collection(uploadCollection),
    intents: await store.collection(intentCollection),
    texts: await store.collection(textCollection),
    usage: await store.collection(usageCollection),
    imports: await store.collection(importCollection),
    bytes,
    tokens: createTokens(Buffer.from('key')),
    media: undefined as never,
    guard,
    nodes: playNodes(nodes) as Parts['nodes'],
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
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** As resources does it: what is told replaces what was, and only the named attempt is dropped. */
function playNodes(nodes: Map<string, FakeNode>): Partial<Parts['nodes']> {
  return {
    async setFileState({ id, revision, file }) {
      if (!nodes.has(id)) return { found: false };
      nodes.set(id, { revision, file });
      return { found: true };
    },
    async dropFileNode({ id, revision }) {
      if (nodes.get(id)?.revision === revision) nodes.delete(id);
      return {};
    },
  };
}
