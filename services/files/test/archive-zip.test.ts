import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import { fromBuffer } from 'yauzl';
import { type ArchiveWriteState, streamedEntry, wholeEntry } from '../src/archives/entries.js';
import { archiveEnd, directoryRecord } from '../src/zip.js';

const AT = new Date('2026-03-04T05:06:08Z');

/** Writes an archive of these entries; every second one is streamed. */
async function zipOf(files: Readonly<Record<string, Buffer>>, huge = false): Promise<Buffer> {
  const written: ArchiveWriteState = { offset: 0, entries: 0, directory: [], sums: [] };
  const bytes: Buffer[] = [];
  for (const [i, [path, data]] of Object.entries(files).entries()) {
    if (i % 2 === 0) bytes.push(await wholeEntry(path, data, AT, written));
    else {
      const streamed = { path, deflated: i % 4 === 1, huge, modifiedAt: AT };
      for await (const chunk of streamedEntry(streamed, inPieces(data), written)) bytes.push(chunk);
    }
    expect(Buffer.concat(bytes).length).toBe(written.offset);
  }
  const directory = Buffer.concat(written.directory);
  return Buffer.concat([...bytes, directory, archiveEnd(written.entries, written.offset, directory.length)]);
}

async function* inPieces(data: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < data.length; at += 1000) yield data.subarray(at, at + 1000);
}

/** Returns the entries that a ZIP library finds in an archive. */
function read(zip: Buffer): Promise<Record<string, Buffer>> {
  return new Promise((resolve, reject) => {
    fromBuffer(zip, { lazyEntries: true, validateEntrySizes: true }, (error, archive) => {
      if (error !== null || archive === undefined) return reject(error);
      const found: Record<string, Buffer> = {};
      archive.on('error', reject).on('end', () => resolve(found));
      archive.on('entry', (entry) =>
        archive.openReadStream(entry, async (fault, stream) => {
          if (fault !== null || stream === undefined) return reject(fault);
          const chunks: Buffer[] = [];
          for await (const chunk of stream) chunks.push(chunk as Buffer);
          expect(entry.getLastModDate({ timezone: 'UTC' })).toEqual(AT);
          found[entry.fileName as string] = Buffer.concat(chunks);
          archive.readEntry();
        }),
      );
      archive.readEntry();
    });
  });
}

const FILES = {
  'empty.txt': Buffer.alloc(0),
  'pieces/ünï 训练.json': Buffer.from('{"a":1}'.repeat(5000)),
  'whole.md': Buffer.from('# Words\n'.repeat(3000)),
  'stored.bin': Buffer.from(Array.from({ length: 20_000 }, (_, i) => (i * 7919) % 256)),
  'last.txt': Buffer.from('x'),
};

test.each([false, true])('writes archives that other software reads, with large records: %s', async (huge) => {
  expect(await read(await zipOf(FILES, huge))).toEqual(FILES);
});

test('writes checksums that Python accepts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-zip-'));
  const path = join(folder, 'a.zip');
  writeFileSync(path, await zipOf(FILES, true));
  const script = 'import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); print(z.testzip(), len(z.namelist()))';
  const { stdout, error } = spawnSync('python3', ['-c', script, path], { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  if (error === undefined) expect(stdout.trim()).toBe('None 5');
});

test('uses ZIP64 records beyond 4 GiB and 65,535 entries', () => {
  const far = 5 * 1024 ** 3;
  const fields = { path: 'a', deflated: false, crc: 1, packedBytes: 3, described: false, modifiedAt: AT };
  const record = directoryRecord({ ...fields, sizeBytes: 3, offset: far });
  expect(record.readUInt32LE(42)).toBe(0xffffffff);
  // The extra field contains what did not fit, and nothing else.
  expect([record.readUInt16LE(47), record.readUInt16LE(49), Number(record.readBigUInt64LE(51))]).toEqual([1, 8, far]);
  const end = archiveEnd(70_000, far, 1000);
  expect(end.length).toBe(56 + 20 + 22);
  expect(Number(end.readBigUInt64LE(32))).toBe(70_000);
  expect(Number(end.readBigUInt64LE(48))).toBe(far);
  expect(Number(end.readBigUInt64LE(56 + 8))).toBe(far + 1000);
  expect(archiveEnd(2, 100, 50).length).toBe(22);
});

test('ends an entry whose source fails, while the reader or the writer waits', async () => {
  const entry = { path: 'x', deflated: true, huge: false, modifiedAt: AT };
  const written = (): ArchiveWriteState => ({ offset: 0, entries: 0, directory: [], sums: [] });
  async function* failing(pieces: number): AsyncGenerator<Buffer> {
    // Random bytes do not compress, so the deflated data waits to be read.
    for (let at = 0; at < pieces; at++) yield randomBytes(64 * 1024);
    throw new Error('the store is gone');
  }
  for (const pieces of [0, 1, 50]) {
    const reading = (async () => {
      for await (const chunk of streamedEntry(entry, failing(pieces), written())) expect(chunk).toBeInstanceOf(Buffer);
    })();
    await expect(reading).rejects.toThrow('the store is gone');
  }
});

test('closes the source of an entry that is not read to its end', async () => {
  const entry = { path: 'x', deflated: true, huge: false, modifiedAt: AT };
  let ended = false;
  async function* endless(): AsyncGenerator<Buffer> {
    try {
      for (;;) yield randomBytes(64 * 1024);
    } finally {
      ended = true;
    }
  }
  let bytes = 0;
  for await (const chunk of streamedEntry(entry, endless(), { offset: 0, entries: 0, directory: [], sums: [] })) {
    bytes += chunk.length;
    if (bytes > 1_000_000) break;
  }
  await eventually(() => expect(ended).toBe(true));
});
