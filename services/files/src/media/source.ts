import { open } from 'node:fs/promises';

/** A file: its path or its bytes. */
export type Source = string | Buffer;

/** Returns the first bytes of a file, up to `length`. Rejects with the error of the file system. */
export async function headOf(source: Source, length: number): Promise<Buffer> {
  if (typeof source !== 'string') return source.subarray(0, length);
  const file = await open(source, 'r');
  try {
    const head = Buffer.alloc(Math.min(length, (await file.stat()).size));
    let read = 0;
    while (read < head.length) {
      const { bytesRead } = await file.read(head, read, head.length - read, read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return head.subarray(0, read);
  } finally {
    await file.close();
  }
}
