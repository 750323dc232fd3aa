import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';

/** Passwords that are known from breaches of other systems. */
export interface BreachedPasswords {
  has(password: string): Promise<boolean>;
  close(): Promise<void>;
}

export const NO_BREACHED_PASSWORDS: BreachedPasswords = { has: async () => false, close: async () => {} };

/** Maximum bytes of a line: 40 hexadecimal digits, a count, and the end of the line. */
const MAX_LINE = 64;
const LINE = /^([0-9A-F]{40})(?::\d+)?\r?$/i;

/**
 * Opens a list of passwords in the download format of Have I Been Pwned: one SHA-1 hash per line, with or without a
 * count, in ascending order. Searches the file without loading it, because it may have tens of gigabytes. Rejects if
 * the file cannot be read or does not begin with such a line.
 */
export async function openBreachedPasswords(file: string): Promise<BreachedPasswords> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    await lineAt(handle, 0, file);
    return {
      has: async (password) => holds(handle, size, hashOf(password), file),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function hashOf(password: string): string {
  return createHash('sha1').update(password).digest('hex').toUpperCase();
}

/** Returns whether a line of the file is the hash, by a binary search over its bytes. */
async function holds(handle: FileHandle, size: number, hash: string, file: string): Promise<boolean> {
  // Both are the start of a line, or the end of the file.
  let [from, until] = [0, size];
  while (from < until) {
    const start = await startOfLine(handle, from, Math.floor((from + until) / 2));
    const line = await lineAt(handle, start, file);
    if (line.hash === hash) return true;
    if (line.hash < hash) from = line.end;
    else until = start;
  }
  return false;
}

/**
 * Returns the offset at which the line that contains the byte `at` starts. `from` is the start of that line or of an
 * earlier one.
 */
async function startOfLine(handle: FileHandle, from: number, at: number): Promise<number> {
  const first = Math.max(from, at - MAX_LINE);
  const bytes = await read(handle, first, at - first);
  const end = bytes.lastIndexOf('\n');
  return end < 0 ? first : first + end + 1;
}

async function lineAt(handle: FileHandle, start: number, file: string): Promise<{ hash: string; end: number }> {
  const bytes = await read(handle, start, MAX_LINE);
  const end = bytes.indexOf('\n');
  const text = bytes.toString('latin1', 0, end < 0 ? bytes.length : end);
  const [, hash] = LINE.exec(text) ?? [];
  if (hash === undefined) throw new Error(`${file} has no SHA-1 hash in the line at byte ${start}`);
  return { hash: hash.toUpperCase(), end: end < 0 ? start + bytes.length : start + end + 1 };
}

async function read(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
