import { MOST_PARTS } from '../config.js';

const MIB = 1024 * 1024;

export interface Layout {
  readonly partBytes: number;
  readonly partCount: number;
}

/** How a file is cut into parts: of the size that is set, larger where there would be too many. */
export function layoutOf(sizeBytes: number, least: number): Layout {
  const needed = Math.ceil(sizeBytes / MOST_PARTS / MIB) * MIB;
  const partBytes = Math.max(least, needed);
  return { partBytes, partCount: Math.max(1, Math.ceil(sizeBytes / partBytes)) };
}

/** Which bytes of the file a part holds; undefined where there is no such part. */
export function partAt(sizeBytes: number, { partBytes, partCount }: Layout, number: number) {
  if (number < 1 || number > partCount) return undefined;
  const offset = (number - 1) * partBytes;
  return { offset, sizeBytes: Math.min(partBytes, sizeBytes - offset) };
}

/** The key of a blob's bytes. */
export function blobKey(blobId: string): string {
  return `${blobId.slice(-2)}/${blobId}`;
}

/** The key of what is derived from a blob, and goes with it. */
export function thumbnailKey(blobId: string, width: number): string {
  return `${blobKey(blobId)}.w${width}`;
}

/** The key that a client puts an upload under. */
export function uploadKey(uploadId: string): string {
  return `uploads/${uploadId}`;
}

/** Which blob or upload a key belongs to; undefined for a key that is none of ours. */
export function ownerOf(key: string): { readonly blobId: string } | { readonly uploadId: string } | undefined {
  const upload = /^uploads\/([0-9a-f-]{36})$/.exec(key);
  if (upload !== null) return { uploadId: upload[1] as string };
  const blob = /^[0-9a-f]{2}\/([0-9a-f-]{36})(\.w\d+)?$/.exec(key);
  return blob === null ? undefined : { blobId: blob[1] as string };
}

/** The widths that small images are made in. */
const WIDTHS = [64, 128, 256, 512, 1024, 2048];

/** The width that a small image is made in, when it is asked for another. */
export function thumbnailWidth(asked: number): number {
  return WIDTHS.find((width) => width >= asked) ?? 2048;
}
