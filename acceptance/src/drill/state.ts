import type { Api } from '../client.js';
import { download, type FileLink, sha256 } from '../files.js';
import type { Resource, Workspace } from '../records.js';
import { forEach, walk } from '../walk.js';

/** Everything that the API shows, by the path from which it was read. */
type State = ReadonlyMap<string, unknown>;

/** Fields that differ between reads or between installations. */
const VOLATILE = new Set([
  'download_url',
  'thumbnail_url',
  'last_used_at',
  'expires_at',
  'request_id',
  'used_at',
  'computed_at',
]);
const WIDTH = 4;

const OF_WORKSPACE = ['', '/members', '/pins', '/publish', '/tags', '/trash', '/connectors', '/imports'];
const OF_RESOURCE = ['', '/content', '/comments', '/permissions', '/snapshots', '/tags', '/publish'];

/**
 * Reads everything: people, keys and workspaces, and of each resource its content, its comments and the bytes of files.
 */
export async function readState(by: Api): Promise<State> {
  const state = new Map<string, unknown>();
  const read = async (path: string) => {
    const { status, body } = await by.get(path);
    state.set(path, [status, withoutVolatile(body.data ?? null)]);
  };
  for (const path of ['/me', '/orgs', '/api-keys', '/notifications', '/storage/usage']) await read(path);
  const workspaces = (await walk<Workspace>(by, '/workspaces', 'cursor')).items;
  await forEach(workspaces, WIDTH, async ({ id }) => {
    for (const more of OF_WORKSPACE) await read(`/workspaces/${id}${more}`);
    const { items } = await walk<Resource>(by, `/workspaces/${id}/resources`, 'cursor');
    await forEach(items, WIDTH, async (resource) => {
      for (const more of OF_RESOURCE) await read(`/resources/${resource.id}${more}`);
      if (resource.type === 'file') state.set(`bytes of ${resource.id}`, await sumOf(by, resource.id));
    });
  });
  return state;
}

async function sumOf(by: Api, id: string): Promise<string> {
  const link = (await by.get<FileLink>(`/resources/${id}/file`)).data;
  return sha256((await download(link.download_url)).bytes);
}

function withoutVolatile(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutVolatile);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !VOLATILE.has(name));
  return Object.fromEntries(kept.map(([name, one]) => [name, withoutVolatile(one)]));
}

/** Maximum number of characters of an answer in a difference, and number of those before the difference. */
const [SHOWN, SHOWN_BEFORE] = [160, 40];

/** Returns the paths whose answers differ, and whether they are lost, new or changed. */
export function differences(before: State, after: State): string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].flatMap((path) => {
    if (!after.has(path)) return [`${path} is lost`];
    if (!before.has(path)) return [`${path} is new`];
    const [was, is] = [before, after].map((state) => JSON.stringify(state.get(path))) as [string, string];
    if (was === is) return [];
    const at = Math.max(0, [...was].findIndex((char, i) => char !== is[i]) - SHOWN_BEFORE);
    return [`${path} was …${was.slice(at, at + SHOWN)} and is …${is.slice(at, at + SHOWN)}`];
  });
}
