import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import type { Acting } from '../../acting.js';
import { ArchiveFault } from '../bundle/limits.js';
import type { OpenBundle } from '../bundle/zip.js';
import { rootIdOf } from '../domain/ids.js';
import { withRemoteImages } from '../images/source.js';
import type { ImportParts } from '../parts.js';
import { ImportFault, type Source } from '../sources/port.js';
import { itemRecords } from '../stores/item-records.js';
import type { ImportRecord } from '../stores/records.js';
import { openThreadSource, type ThreadSource } from '../thread/source.js';
import { actingFor, lostAccess } from './acting.js';
import { findExisting } from './existing.js';
import { fetchSource } from './fetch-source.js';
import { createFiles } from './files.js';
import { finishImport } from './finish.js';
import type { Hold } from './hold.js';
import { createItems, type Items } from './items.js';
import { formatOf, openSourceBundle, sourceOptions } from './open.js';
import { mappedUsers } from './people.js';
import { planItems } from './plan.js';
import { putAll } from './put.js';
import type { Place, Run } from './run-parts.js';

/** Runs or resumes an import; completed items are not written again. `stopped` throws when the run has to end. */
export async function runImport(parts: ImportParts, hold: Hold, stopped: () => void): Promise<void> {
  const acting = actingFor(parts, hold.record);
  const { workspaceId, parentId, url, blobId } = hold.record;
  await parts.treeImports.checkImportPlace({ workspaceId, parentId }, await acting()).catch(lostAccess);
  if (blobId === undefined && url !== undefined) await fetchSource(parts, hold);
  stopped();
  await hold.save(() => ({ phase: 'scan' }));
  const bundle = await openSourceBundle(parts, hold.record);
  try {
    await withBundle(parts, hold, bundle, acting, stopped);
  } finally {
    await bundle.close();
  }
}

async function withBundle(
  parts: ImportParts,
  hold: Hold,
  bundle: OpenBundle,
  acting: Acting,
  stopped: () => void,
): Promise<void> {
  if (hold.record.verified !== true) {
    await bundle.verify(() => isStopped(stopped));
    stopped();
    await hold.save(() => ({ verified: true }));
  }
  const { sourceType, readAs = sourceType } = hold.record;
  formatOf(hold.record);
  const source = await openThreadSource(readAs, bundle, sourceOptions(hold.record));
  try {
    await withOpened(parts, hold, bundle, source, acting, stopped);
  } finally {
    await source.close();
  }
}

async function withOpened(
  parts: ImportParts,
  hold: Hold,
  bundle: OpenBundle,
  source: ThreadSource,
  acting: Acting,
  stopped: () => void,
): Promise<void> {
  const { options, dryRun } = hold.record;
  if (options.downloadRemoteImages !== true || dryRun) return withSource(parts, hold, bundle, source, acting, stopped);
  const images = await withRemoteImages(parts, hold.record.tenant, source, stopped);
  try {
    await withSource(parts, hold, bundle, images.source, acting, stopped);
  } finally {
    await images.close();
  }
}

async function withSource(
  parts: ImportParts,
  hold: Hold,
  bundle: OpenBundle,
  source: ThreadSource,
  acting: Acting,
  stopped: () => void,
): Promise<void> {
  if (hold.record.planned !== true) await planItems(parts, hold, source);
  stopped();
  await hold.save(() => ({ phase: 'parse' }));
  const items = await createItems(hold.record, source, itemRecords(parts, hold.record.id));
  const users = await mappedUsers(parts, hold.record);
  const existing = await findExisting(parts, hold, items, acting);
  const place = items.hasWanted && existing.hasNew ? await makeRoot(parts, hold, source, acting) : NOWHERE;
  const run: Run = {
    record: hold.record,
    bundle,
    items,
    existing,
    files: createFiles(parts),
    users,
    place,
    isFatal: (fault) => fault instanceof ArchiveFault,
    entryBytes: (path) => bundle.entry(path)?.sizeBytes ?? 0,
  };
  await hold.save(() => ({ phase: 'create' }));
  await putAll(parts, hold, run, acting, stopped);
  if (hold.record.rootResourceId === undefined) await noteOnly(hold, items);
  await skipUndecided(parts, hold, items);
  await finishImport(parts, hold, source.notes ?? [], users.size);
}

function isStopped(stopped: () => void): boolean {
  try {
    stopped();
    return false;
  } catch {
    return true;
  }
}

/** Place of an import that creates nothing at its top level. */
const NOWHERE: Place = { parentId: undefined, restrictEach: false };

/** Creates the folder that holds the import. A single file without a name of its own needs none. */
async function makeRoot(parts: ImportParts, hold: Hold, { items }: Source, acting: Acting): Promise<Place> {
  const { id: importId, name, named, restricted, parentId, workspaceId, dryRun } = hold.record;
  const tops = items.filter(({ parent }) => parent === undefined);
  if (!formatOf(hold.record).archive && !named && tops.length <= 1) return { parentId, restrictEach: restricted };
  const id = rootIdOf(importId);
  if (dryRun) return { parentId: id, restrictEach: false };
  const accessMode = restricted ? AccessMode.RESTRICTED : AccessMode.INHERIT;
  const item = ImportItem.fromPartial({ id, type: ResourceType.FOLDER, name, parentId, accessMode });
  const request = { workspaceId, items: [item], import: { id: importId, name } };
  const { outcomes } = await parts.treeImports.putItems(request, await acting()).catch(lostAccess);
  const [outcome] = outcomes;
  if (outcome?.status === 'failed') throw new ImportFault(outcome.code, outcome.message, outcome.retryable);
  await noteRoot(hold, id);
  return { parentId: id, restrictEach: false };
}

/** Records the resource of a single file that has no folder around it. */
async function noteOnly(hold: Hold, items: Items): Promise<void> {
  const tops = [...items.source.items.entries()].filter(([, { parent }]) => parent === undefined);
  const [only] = tops;
  if (only === undefined || tops.length > 1) return;
  const [seq] = only;
  if (['created', 'updated'].includes(items.state(seq))) await noteRoot(hold, items.resourceId(seq));
}

async function noteRoot(hold: Hold, rootResourceId: string): Promise<void> {
  const { dryRun }: ImportRecord = hold.record;
  if (!dryRun) await hold.save(() => ({ rootResourceId }));
}

const CHUNK = 500;

/** Skips items that nothing links to, and folders that contain only such items. */
async function skipUndecided(parts: ImportParts, hold: Hold, items: Items): Promise<void> {
  const { id: importId, attempt } = hold.record;
  const seqs = new Set(items.undecided());
  if (seqs.size === 0) return;
  for await (const chunk of itemRecords(parts, importId)) {
    const left = chunk.filter(({ seq, kind }) => kind !== undefined && seqs.has(seq));
    for (let from = 0; from < left.length; from += CHUNK) {
      await hold.save(
        ({ done }) => ({ done: { ...done, skipped: done.skipped + left.slice(from, from + CHUNK).length } }),
        async (work) => {
          for (const record of left.slice(from, from + CHUNK)) {
            work.replace(parts.importItems, record, {
              ...record,
              attempt,
              status: 'skipped',
              code: 'not_linked',
              message:
                record.kind === 'folder' ? 'The folder contains nothing that is imported.' : 'No page links to it.',
            });
          }
        },
      );
    }
  }
}
