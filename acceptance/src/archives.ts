import { createHash } from 'node:crypto';
import { unzipSync } from 'fflate';
import type { Api } from './client.js';
import { eventually } from './eventually.js';
import type { Workspace } from './records.js';

interface Archive {
  readonly id: string;
  readonly mode: string;
  readonly format: string | null;
  readonly status: string;
  readonly progress: { readonly total: number; readonly processed: number; readonly percent: number } | null;
  readonly size_bytes: number | null;
  readonly checksum_sha256: string | null;
  readonly download_url: string | null;
  readonly expires_at: string | null;
  readonly manifest: {
    readonly resource_count: number;
    readonly file_count: number;
    readonly errors: readonly { readonly resource_id: string; readonly code: string }[];
  } | null;
  readonly include: Readonly<Record<string, boolean>> | null;
  readonly error?: { readonly code: string } | null;
}

export interface Archived {
  readonly workspace: Workspace & { readonly latest_archive: Archive | null };
  readonly archive: Archive;
}

/** Exports a workspace and waits for the end of the export. Returns the archive. */
export async function exported(by: Api, workspaceId: string, body: object = {}): Promise<Archive> {
  const begun = await by.post<Archived>(`/workspaces/${workspaceId}/archive`, { mode: 'export', ...body });
  if (begun.status !== 202) throw new Error(`an export is answered ${begun.status} ${JSON.stringify(begun.error)}`);
  return finished(by, workspaceId, begun.data.archive.id);
}

export async function finished(by: Api, workspaceId: string, id: string): Promise<Archive> {
  let latest: Archive | null = null;
  await eventually(async () => {
    latest = (await by.get<Archived['workspace']>(`/workspaces/${workspaceId}`)).data.latest_archive;
    const done = latest?.id === id && ['completed', 'completed_with_errors', 'failed'].includes(latest.status);
    if (!done) throw new Error(`the export is ${JSON.stringify(latest)}`);
  }, 60_000);
  return latest as unknown as Archive;
}

export type Entries = ReadonlyMap<string, Buffer>;

/** Downloads an archive. Returns its entries. Throws if its size or checksum is wrong. */
export async function entriesOf({ download_url, checksum_sha256, size_bytes }: Archive): Promise<Entries> {
  const bytes = Buffer.from(await (await fetch(download_url ?? '')).arrayBuffer());
  if (bytes.length !== size_bytes) throw new Error(`the archive has ${bytes.length} bytes instead of ${size_bytes}`);
  const sum = createHash('sha256').update(bytes).digest('hex');
  if (sum !== checksum_sha256) throw new Error('the checksum of the archive differs');
  return new Map(Object.entries(unzipSync(bytes)).map(([path, data]) => [path, Buffer.from(data)]));
}

export function jsonIn<T>(entries: Entries, path: string): T {
  const data = entries.get(path);
  if (data === undefined) throw new Error(`the archive has no ${path}, only ${[...entries.keys()].join(', ')}`);
  return JSON.parse(data.toString()) as T;
}
