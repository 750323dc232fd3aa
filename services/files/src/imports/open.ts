import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCollections } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import { type Host, openClients } from '@commonplace/platform/runtime';
import type { UploadParts } from '../uploads/parts.js';
import { IMPORT_PEERS, IMPORT_RECORDS, type ImportParts } from './parts.js';
import type { ImportPolicyParts } from './policy.js';
import { openImportQuotas } from './quotas.js';

/** Opens the dependencies of imports, in addition to those of uploads. */
export async function openImportParts(
  parts: UploadParts & Pick<ImportParts, 'imports'>,
  host: Host<(typeof IMPORT_PEERS)[keyof typeof IMPORT_PEERS]>,
  memberships: MembershipCache,
): Promise<ImportPolicyParts> {
  const { store, bus, dataDir } = host;
  return {
    ...parts,
    ...(await openCollections(store, IMPORT_RECORDS)),
    ...openClients(host, IMPORT_PEERS),
    bus,
    memberships,
    importQuotas: await openImportQuotas(store, parts),
    scratch: await openScratch(parts, dataDir),
  };
}

/** Creates a folder for unpacked files. One in the data directory is emptied of what a crash has left. */
async function openScratch({ bytes }: UploadParts, dataDir: string): Promise<string> {
  if (!bytes.exclusive) return mkdtempSync(join(tmpdir(), 'commonplace-imports-'));
  const folder = join(dataDir, 'imports');
  await rm(folder, { recursive: true, force: true });
  return folder;
}
