const MIB = 1024 * 1024;

interface Layout {
  readonly partBytes: number;
  readonly partCount: number;
}

/** Divides a file into parts: of at least `minPartBytes` bytes, larger when there would be too many. */
export function layoutOf(sizeBytes: number, minPartBytes: number): Layout {
  const needed = Math.ceil(sizeBytes / MAX_PARTS / MIB) * MIB;
  const partBytes = Math.max(minPartBytes, needed);
  return { partBytes, partCount: Math.max(1, Math.ceil(sizeBytes / partBytes)) };
}

/** Returns the offset and the size of a part of the file; undefined if there is no such part. */
export function partAt(sizeBytes: number, { partBytes, partCount }: Layout, number: number) {
  if (number < 1 || number > partCount) return undefined;
  const offset = (number - 1) * partBytes;
  return { offset, sizeBytes: Math.min(partBytes, sizeBytes - offset) };
}

/** Returns the key of a blob's bytes. */
export function blobKey(blobId: string): string {
  return `${blobId.slice(-2)}/${blobId}`;
}

/** Returns the key of a thumbnail, which is derived from a blob and deleted with it. */
export function thumbnailKey(blobId: string, width: number): string {
  return `${blobKey(blobId)}.w${width}`;
}

/** Returns the key under which a client uploads a file to a bucket. */
export function uploadKey(uploadId: string): string {
  return `uploads/${uploadId}`;
}

/** Returns the blob or upload that a key belongs to, or undefined for a key of another kind. */
export function ownerOf(key: string): { readonly blobId: string } | { readonly uploadId: string } | undefined {
  const upload = /^uploads\/([0-9a-f-]{36})$/.exec(key);
  if (upload !== null) return { uploadId: upload[1] as string };
  const blob = /^[0-9a-f]{2}\/([0-9a-f-]{36})(\.w\d+)?$/.exec(key);
  return blob === null ? undefined : { blobId: blob[1] as string };
}

/** Returns the key of bytes in the trash; it contains the day (UTC) on which they were moved. */
export function trashKey(key: string, at: Date): string {
  return `trash/${at.toISOString().slice(0, 10)}/${key}`;
}

/**
 * Parses a key in the trash: when the bytes were moved there, in milliseconds since 1970, and its original key. Returns
 * undefined for any other key.
 */
export function parseTrashKey(key: string): { readonly at: number; readonly key: string } | undefined {
  const found = /^trash\/(\d{4}-\d{2}-\d{2})\/(.+)$/.exec(key);
  if (found === null || ownerOf(found[2] as string) === undefined) return undefined;
  // The key holds only the day; its end is used, so that bytes are never deleted early.
  return { at: Date.parse(`${found[1]}T23:59:59.999Z`), key: found[2] as string };
}

/** Widths of thumbnails in pixels. */
const WIDTHS = [64, 128, 256, 512, 1024, 2048];

/** Returns all keys that a blob may have. Listing them would read a whole folder. */
export function keysOfBlob(blobId: string): string[] {
  return [blobKey(blobId), ...WIDTHS.map((width) => thumbnailKey(blobId, width))];
}

/** Returns the thumbnail width for a requested width: the next larger one, at most 2048. */
export function thumbnailWidth(requested: number): number {
  return WIDTHS.find((width) => width >= requested) ?? 2048;
}

/** Maximum number of parts of an upload. */
const MAX_PARTS = 1000;
