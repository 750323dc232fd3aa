import { type Zippable, zipSync } from 'fflate';
import type { Api } from './client.js';
import type { Import, ImportItem } from './records.js';

const ACTIVE = new Set(['pending_upload', 'queued', 'running']);

/** Waits until an import has ended, and returns it. Throws after `withinMs` milliseconds. */
export async function finished(by: Api, id: string, withinMs = 60_000): Promise<Import> {
  const until = Date.now() + withinMs;
  for (;;) {
    const { data } = await by.get<Import>(`/imports/${id}`);
    if (!ACTIVE.has(data.status)) return data;
    if (Date.now() > until) throw new Error(`The import has not ended in time: ${JSON.stringify(data)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Starts an import and waits for its end. */
export async function importAll(by: Api, workspaceId: string, body: object, withinMs?: number): Promise<Import> {
  const { data } = await by.post<Import>(`/workspaces/${workspaceId}/imports`, body);
  return finished(by, data.id, withinMs);
}

/** Uploads the bytes for which an import waits. */
export async function putUpload({ upload }: Import, bytes: Uint8Array): Promise<void> {
  if (upload === undefined) throw new Error('The import does not wait for an upload.');
  const { method, url, headers } = upload;
  const answer = await fetch(url, { method, headers, body: bytes as Uint8Array<ArrayBuffer> });
  if (!answer.ok) throw new Error(`The upload was refused: ${await answer.text()}`);
}

/** Returns all items of an import, or those with a status. */
export async function itemsOf(by: Api, id: string, status = ''): Promise<ImportItem[]> {
  const items: ImportItem[] = [];
  for (let cursor = ''; ; ) {
    const query = `include=items&limit=200${status && `&status=${status}`}${cursor && `&cursor=${cursor}`}`;
    const { data, page } = await by.get<Import>(`/imports/${id}?${query}`);
    items.push(...(data.items ?? []));
    if (!page.has_more) return items;
    cursor = page.next_cursor ?? '';
  }
}

/** Creates a ZIP archive from texts, or from bytes with options, by path. */
export function archive(entries: Readonly<Record<string, string | Zippable[string]>>): Buffer {
  const bytes = Object.entries(entries).map(([path, value]) => [
    path,
    typeof value === 'string' ? Buffer.from(value) : value,
  ]);
  return Buffer.from(zipSync(Object.fromEntries(bytes) as Zippable));
}

/** Returns the field for bytes that are sent within an import's request. */
export function inline(bytes: Uint8Array): { content_base64: string } {
  return { content_base64: Buffer.from(bytes).toString('base64') };
}
