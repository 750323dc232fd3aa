import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import { createWorkspace } from '../fill.js';
import { type Client, openClient } from '../http.js';
import { type System, startSystem } from '../system.js';
import { type Archive, createArchive } from './import-archive.js';
import type { Tally } from './tally.js';

const PAGES = 160;
const CONNECTIONS = 16;
const PAGE = 200;
const POLL_INTERVAL_MS = 20;
/** Milliseconds within which an import must end after the start that resumes it. */
const TIMEOUT_MS = 120_000;

interface Import {
  readonly id: string;
  readonly status: string;
  readonly root_resource_id: string | null;
  readonly stats: Readonly<Record<string, number>>;
  readonly error: { readonly message: string } | null;
}

/**
 * Kills imports at random moments. Checks that each is complete after the next start, with nothing lost and nothing
 * duplicated.
 */
export async function soakImports(rounds: number, home: string, tally: Tally): Promise<void> {
  const archive = createArchive(PAGES);
  let system = await startSystem({ home });
  try {
    const wholeMs = await timeOne(system, archive, tally);
    for (let round = 1; round <= rounds; round++) {
      // Each import runs in a newly started process, like the first one.
      await system.kill();
      system = await restart(system, home);
      const started = performance.now();
      const client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
      const { id, workspaceId } = await begin(client, archive);
      const killedMs = randomInt(wholeMs);
      await sleep(killedMs);
      await system.kill();
      client.close();
      system = await restart(system, home);
      const reading = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
      try {
        const done = await untilOver(reading, id);
        tally.check('a killed import is whole after the next start', [
          ...outcomeFaults(done, archive),
          ...(await treeFaults(reading, workspaceId, done, archive)),
        ]);
        const took = seconds(performance.now() - started);
        console.log(`import ${round}/${rounds}: killed after ${killedMs} of about ${wholeMs} ms; ${took}`);
      } finally {
        reading.close();
      }
    }
  } finally {
    await system.stop();
  }
}

function restart({ baseUrl }: System, home: string): Promise<System> {
  return startSystem({ home, port: Number(new URL(baseUrl).port) });
}

async function begin(client: Client, { zip }: Archive) {
  const workspaceId = await createWorkspace(client, 'Import');
  const body = { source_type: 'markdown_zip', name: 'Soak', content_base64: zip.toString('base64') };
  const { id } = await client.ask<Import>('POST', `/workspaces/${workspaceId}/imports`, body);
  return { id, workspaceId };
}

/** Returns the duration of an undisturbed import in milliseconds. */
async function timeOne(system: System, archive: Archive, tally: Tally): Promise<number> {
  const client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
  try {
    const { id } = await begin(client, archive);
    const started = performance.now();
    const done = await untilOver(client, id);
    tally.check('an import that nothing disturbs is whole', outcomeFaults(done, archive));
    return Math.ceil(performance.now() - started);
  } finally {
    client.close();
  }
}

async function untilOver(client: Client, id: string): Promise<Import> {
  const started = performance.now();
  for (;;) {
    const done = await client.ask<Import>('GET', `/imports/${id}`);
    const tookMs = performance.now() - started;
    if (!['queued', 'running'].includes(done.status) || tookMs > TIMEOUT_MS) return done;
    await sleep(POLL_INTERVAL_MS);
  }
}

function outcomeFaults({ status, stats, error }: Import, { pages, images, folders }: Archive): string[] {
  if (status !== 'completed') return [`the import is ${status}: ${error?.message ?? ''}`];
  const expected = { documents: pages.size, files: images.length, folders: folders.length, links_broken: 0 };
  return Object.entries(expected).flatMap(([name, count]) =>
    stats[name] === count ? [] : [`${stats[name]} ${name}, not ${count}`],
  );
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly parent_id: string;
  readonly file: { readonly status: string } | null;
}

/** Returns the items of the tree that are missing, duplicated, or have an unexpected text. */
async function treeFaults(
  client: Client,
  workspaceId: string,
  { root_resource_id: root }: Import,
  archive: Archive,
): Promise<string[]> {
  const all = await listAll(client, workspaceId);
  const byId = new Map(all.map((one) => [one.id, one]));
  const ids = new Map<string, string>();
  const faults: string[] = [];
  for (const { id, type, name, parent_id: parent } of all) {
    if (type === 'folder') continue;
    // The name of a page is its heading, such as `Page 7`.
    const file = type === 'document' ? `${name.toLowerCase().replace(' ', '-')}.md` : name;
    const path = `${byId.get(parent)?.name}/${file}`;
    if (ids.has(path)) faults.push(`${path} is there twice`);
    ids.set(path, id);
  }
  const expected = archive.pages.size + archive.images.length + archive.folders.length + 1;
  if (all.length !== expected) faults.push(`${all.length} resources, not ${expected}`);
  if (!byId.has(root ?? '')) faults.push('there is no folder that holds them');
  const pages = await forEach([...archive.pages], CONNECTIONS, async ([path, text]) => {
    const id = ids.get(path);
    if (id === undefined) return [`${path} is lost`];
    const { content } = await client.ask<{ content: string }>('GET', `/resources/${id}/content`);
    const right = text.replace(/\{([^}]+)\}/g, (_, target: string) => `resource:${ids.get(target)}`);
    return content === right ? [] : [`${path} has another text`];
  });
  const images = await forEach([...archive.images], CONNECTIONS, async (path) => {
    const { status } = await client.send('GET', `/resources/${ids.get(path)}/file`);
    return status === 200 ? [] : [`${path} has no bytes: ${status}`];
  });
  return [...faults, ...pages.flat(), ...images.flat()];
}

async function listAll(client: Client, workspaceId: string): Promise<Listed[]> {
  const all: Listed[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const path = `/workspaces/${workspaceId}/resources?limit=${PAGE}&offset=${offset}`;
    const { items } = await client.ask<{ items: Listed[] }>('GET', path);
    all.push(...items);
    if (items.length < PAGE) return all;
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
