import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contracts } from '@commonplace/kit/contracts';
import type { MembershipCache } from '@commonplace/kit/memberships';
import type { Host } from '@commonplace/kit/runtime';
import type { Parts } from '../parts.js';
import { createFiles } from './jobs/files.js';
import type { ImportPolicyParts } from './policy.js';
import { itemCollection, removalCollection, reportCollection } from './stores/records.js';

/** What imports stand on, beside the parts of files. */
export async function openImportParts(
  parts: Parts,
  { store, client, dataDir }: Pick<Host, 'store' | 'client' | 'dataDir'>,
  memberships: MembershipCache,
): Promise<ImportPolicyParts> {
  const base = {
    ...parts,
    importItems: await store.collection(itemCollection),
    importReports: await store.collection(reportCollection),
    importRemovals: await store.collection(removalCollection),
    treeImports: client(contracts.treeImports),
    resources: client(contracts.resources),
    auth: client(contracts.auth),
    directory: client(contracts.directory),
    memberships,
    scratch: await openScratch(parts, dataDir),
  };
  const importFiles = createFiles(base as unknown as ImportPolicyParts);
  return { ...base, importFiles };
}

/** A folder for what is unpacked; with a data folder of its own, what a crash has left there goes. */
async function openScratch({ bytes }: Parts, dataDir: string): Promise<string> {
  if (!bytes.exclusive) return mkdtempSync(join(tmpdir(), 'commonplace-imports-'));
  const folder = join(dataDir, 'imports');
  await rm(folder, { recursive: true, force: true });
  return folder;
}
