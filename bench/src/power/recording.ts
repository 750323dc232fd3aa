import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';

/** An operation of a process that recorder.c has recorded. */
export type Entry =
  | { readonly kind: 'open'; readonly file: string; readonly path: string; readonly flags: number }
  | { readonly kind: 'close'; readonly file: string }
  | { readonly kind: 'write'; readonly file: string; readonly at: number; readonly data: Buffer }
  | { readonly kind: 'truncate'; readonly file: string; readonly size: number }
  /** Start of a sync. Earlier changes are durable once `synced` with the same ticket follows. */
  | { readonly kind: 'sync'; readonly file: string; readonly ticket: string }
  | { readonly kind: 'synced'; readonly ticket: string }
  | { readonly kind: 'rename' | 'link'; readonly path: string; readonly to: string }
  | { readonly kind: 'remove' | 'folder'; readonly path: string }
  /** Head of an answer, recorded just before it is sent. */
  | { readonly kind: 'answer'; readonly status: number; readonly requestId: string };

/** Builds the recorder. Returns the settings with which it records operations of a process below `root` to `log`. */
export function recorderSettings(folder: string, root: string, log: string): Readonly<Record<string, string>> {
  const library = join(folder, 'recorder.so');
  const source = join(ROOT, 'bench/src/power/recorder.c');
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-Wall', '-o', library, source, '-ldl', '-lpthread']);
  // io_uring is disabled, because all writes have to pass through the C library.
  return { LD_PRELOAD: library, POWER_LOG: log, POWER_ROOT: root, UV_USE_IO_URING: '0' };
}

const HEAD = 32;

/** Reads a complete recording. Throws if it contains an unknown entry. */
export function readRecording(log: string): Entry[] {
  const bytes = readFileSync(log);
  const entries: Entry[] = [];
  for (let at = 0; at + HEAD <= bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    const record = bytes.subarray(at, at + length);
    // If the process was killed, its last entry may be cut off.
    if (record.length < length) break;
    entries.push(entryOf(record));
    at += length;
  }
  return entries;
}

function entryOf(record: Buffer): Entry {
  const kind = String.fromCharCode(record.readUInt32LE(4));
  const process = record.readUInt32LE(8);
  const file = `${process}:${record.readInt32LE(12)}`;
  const number = Number(record.readBigInt64LE(16));
  const path = record.toString('utf8', HEAD, HEAD + record.readUInt32LE(24));
  const data = record.subarray(HEAD + record.readUInt32LE(24));
  const to = () => data.toString('utf8');
  switch (kind) {
    case 'O':
      return { kind: 'open', file, path, flags: number };
    case 'C':
      return { kind: 'close', file };
    case 'W':
      return { kind: 'write', file, at: number, data };
    case 'T':
      return { kind: 'truncate', file, size: number };
    case 'S':
      return { kind: 'sync', file, ticket: `${process}:${number}` };
    case 'E':
      return { kind: 'synced', ticket: `${process}:${number}` };
    case 'R':
      return { kind: 'rename', path, to: to() };
    case 'L':
      return { kind: 'link', path, to: to() };
    case 'U':
      return { kind: 'remove', path };
    case 'M':
      return { kind: 'folder', path };
    case 'A':
      return answerOf(data.toString('latin1'));
    default:
      throw new Error(`a recording of what? ${kind}`);
  }
}

function answerOf(head: string): Entry {
  const requestId = /^x-request-id: (.*)\r$/im.exec(head)?.[1] ?? '';
  return { kind: 'answer', status: Number(head.slice(9, 12)), requestId };
}
