// Opens an archive in a separate process as an import does, and prints how many bytes of heap each of its items takes
// while the import runs. Needs `--expose-gc`.
import { fileBytes } from '../../src/imports/bundle/bytes.js';
import { openZipBundle } from '../../src/imports/bundle/zip.js';
import { createItems } from '../../src/imports/jobs/items.js';
import type { ImportRecord, ItemRecord } from '../../src/imports/stores/records.js';
import { openThreadSource } from '../../src/imports/thread/source.js';

const [path = '', kind = ''] = process.argv.slice(2);
const limits = {
  archiveBytes: 2 ** 30,
  unpackedBytes: 2 ** 30,
  entryBytes: 2 ** 30,
  entries: 100_000,
  ratio: 200,
  nesting: 2,
  pathLength: 1024,
};

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

async function* noRecords(): AsyncGenerator<ItemRecord[]> {}

const record = { id: 'an import', attempt: 1, scope: 'failed' } as ImportRecord;
const before = heapBytes();
const bundle = await openZipBundle(await fileBytes(path), limits, '');
const source = await openThreadSource(kind, bundle, {});
const items = await createItems(record, source, noRecords());
const bytes = heapBytes() - before;
// Uses the objects after the measurement, so that they can't be collected before.
const one = bundle.entry(items.item(items.count - 1).path)?.path ?? '';
await source.close();
await bundle.close();
console.log(JSON.stringify({ items: items.count, each: Math.round(bytes / items.count), found: items.seqOf(one) }));
