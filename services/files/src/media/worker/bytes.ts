import { readFile } from 'node:fs/promises';

/** Returns all bytes of a task's source; those that were sent by the other process are not copied. */
export function bytesOf(source: string | Uint8Array): Buffer | Promise<Buffer> {
  return typeof source === 'string'
    ? readFile(source)
    : Buffer.from(source.buffer, source.byteOffset, source.byteLength);
}
