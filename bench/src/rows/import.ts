import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { testData } from '@commonplace/acceptance/dist/src/system.js';
import type { Bench } from '../bench.js';
import { createWorkspace } from '../fill.js';
import type { Client } from '../http.js';
import { type Row, Skipped } from '../row.js';

/** Maximum time in seconds until a handbook of 883 pages is imported and search finds its last page. */
const FLOOR_S = 30;

interface Import {
  readonly id: string;
  readonly status: string;
  readonly stats: Readonly<Record<string, number>>;
  readonly upload: { readonly url: string };
}

/** Measures the import of a handbook's archive until search finds its last page. */
export async function measureImport(bench: Bench): Promise<Row> {
  const zip = readArchive();
  const { client, subject } = await bench.start('import');
  try {
    const workspaceId = await createWorkspace(client, 'Import');
    const { started, done } = await importArchive(client, workspaceId, zip);
    const importing = (performance.now() - started) / 1000;
    const query = { query: 'paring down tech debt', mode: 'keyword', workspace_ids: [workspaceId], limit: 1 };
    const found = () => client.ask<{ items: unknown[] }>('POST', '/search', query);
    while ((await found()).items.length === 0) await sleep(50);
    const value = (performance.now() - started) / 1000;
    const { documents, files, links_rewritten: links, links_broken: broken } = done.stats;
    return {
      figures: [],
      checks: [{ what: 'archive to searchable pages', value, unit: 's', right: 'at most', floor: FLOOR_S }],
      notes: [
        `${documents} documents, ${files} files, ${links} links, ${broken} broken; in the tree after ${importing.toFixed(1)} s`,
      ],
    };
  } finally {
    await subject.stop();
  }
}

/** Reads the handbook's archive. Throws `Skipped` if it does not exist. */
export function readArchive(): Buffer {
  const file = join(testData() ?? '', 'handbook.zip');
  if (!existsSync(file)) throw new Skipped('handbook.zip is not there (COMMONPLACE_TEST_DATA)');
  return readFileSync(file);
}

/** Imports an archive into a workspace. Returns the start time of its upload, and the import at its end. */
export async function importArchive(client: Client, workspaceId: string, zip: Buffer) {
  const body = { source_type: 'markdown_zip', upload: true };
  const { id, upload } = await client.ask<Import>('POST', `/workspaces/${workspaceId}/imports`, body);
  const started = performance.now();
  await fetch(upload.url, { method: 'PUT', body: new Uint8Array(zip) });
  return { started, done: await untilOver(() => client.ask<Import>('GET', `/imports/${id}`)) };
}

async function untilOver(ask: () => Promise<Import>): Promise<Import> {
  for (;;) {
    const seen = await ask();
    if (seen.status.startsWith('completed')) return seen;
    if (seen.status === 'failed') throw new Error('The import failed.');
    await sleep(100);
  }
}
