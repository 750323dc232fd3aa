import { createHash } from 'node:crypto';
import type { Api, Reply } from './client.js';
import { eventually } from './eventually.js';
import type { Resource } from './records.js';

interface File {
  readonly status: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly checksum_sha256: string | null;
  readonly text_extraction: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly version_count: number;
  readonly error: { readonly code: string } | null;
}

interface Part {
  readonly number: number;
  readonly url: string;
  readonly offset: number;
  readonly size_bytes: number;
}

export interface Upload {
  readonly method: string;
  readonly url: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly part_size: number | null;
  readonly parts: readonly Part[] | null;
}

export interface NewFile {
  readonly resource: Resource & { readonly file: Pick<File, 'status' | 'content_type' | 'size_bytes'> | null };
  readonly file: File;
  readonly upload: Upload | null;
}

export interface FileLink {
  readonly name: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly checksum_sha256: string;
  readonly download_url: string;
  readonly disposition: string;
  readonly thumbnail_url: string | null;
  readonly file: File;
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Creates a file. `content`, if given, is sent in the request. */
export function newFile(by: Api, fields: object, content?: Uint8Array | string): Promise<Reply<NewFile>> {
  const inline = content === undefined ? {} : { content_base64: Buffer.from(content).toString('base64') };
  return by.post<NewFile>('/files', { ...fields, ...inline });
}

export async function putBytes({ url, headers }: Upload, bytes: Uint8Array): Promise<Response> {
  return fetch(url ?? '', { method: 'PUT', headers, body: bytes as Uint8Array<ArrayBuffer> });
}

export function putPart({ url, offset, size_bytes: size }: Part, bytes: Buffer): Promise<Response> {
  return fetch(url, { method: 'PUT', body: new Uint8Array(bytes.subarray(offset, offset + size)) });
}

/** Waits until a file has bytes. Returns its download link. */
export function linkOf(by: Api, id: string, query = ''): Promise<FileLink> {
  return eventually(async () => (await by.get<FileLink>(`/resources/${id}/file${query}`)).data, 30_000);
}

/** Downloads a URL. Returns status, headers and bytes. */
export async function download(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers });
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
}
