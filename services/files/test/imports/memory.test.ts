import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32, deflateRawSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';

const folder = mkdtempSync(join(tmpdir(), 'commonplace-memory-'));
const MIB = 1024 * 1024;
/** Megabytes above idle that an archive may take, whatever it contains. */
const MOST = 64;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Entry {
  readonly path: string;
  readonly data: Buffer;
  readonly crc: number;
  /** Size in the directory. */
  readonly size: number;
}

/** Writes an archive of deflated entries with the given values in its directory; entries may share their bytes. */
function zipOf(entries: readonly Entry[], shared = false): Buffer {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [i, { path, data, crc, size }] of entries.entries()) {
    const name = Buffer.from(path);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(crc, 10);
    facts.writeUInt32LE(data.length, 14);
    facts.writeUInt32LE(size, 18);
    facts.writeUInt16LE(name.length, 22);
    const at = shared ? 0 : offset;
    if (!shared || i === 0) {
      pieces.push(Buffer.from('504b0304', 'hex'), facts, name, data);
      offset += 30 + name.length + data.length;
    }
    const end = Buffer.alloc(14);
    end.writeUInt32LE(at, 10);
    directory.push(Buffer.from('504b01021400', 'hex'), facts, end, name);
  }
  const listed = Buffer.concat(directory);
  return Buffer.concat([...pieces, listed, endOf(entries.length, listed.length, offset)]);
}

function endOf(count: number, bytes: number, offset: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(bytes, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}

/** Writes an archive that declares this many entries, more than fit into the old format. */
function saying(count: number): Buffer {
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([record, locator, endOf(0xffff, 0xffffffff, 0xffffffff)]);
}

const zeros = Buffer.alloc(96 * MIB);
const packed = deflateRawSync(zeros);
const crc = crc32(zeros);

/** Returns what a script in a separate process prints about an archive. */
function runOn(zip: Buffer, script: string, ...more: readonly string[]): unknown {
  const path = join(folder, 'archive.zip');
  writeFileSync(path, zip);
  const file = fileURLToPath(new URL(script, import.meta.url));
  return JSON.parse(execFileSync(process.execPath, ['--expose-gc', file, path, ...more], { encoding: 'utf8' }));
}

function readArchive(zip: Buffer): { code: string; megabytes: number } {
  return runOn(zip, './read-archive.js') as ReturnType<typeof readArchive>;
}

describe('archive beyond a limit is refused with little memory', () => {
  test.each([
    ['a bomb', 'archive_ratio_exceeded', zipOf([{ path: 'a', data: packed, crc, size: zeros.length }])],
    [
      'an entry that lies about its size',
      'archive_size_mismatch',
      zipOf([{ path: 'a', data: packed, crc, size: 1000 }]),
    ],
    [
      'many entries of the same bytes',
      'archive_ratio_exceeded',
      zipOf(
        Array.from({ length: 1000 }, (_, i) => ({ path: `${i}`, data: packed, crc, size: zeros.length })),
        true,
      ),
    ],
    ['a million entries', 'archive_too_many_entries', saying(1_000_000)],
    ['a bomb within', 'archive_ratio_exceeded', nested()],
  ])('%s', (_, code, zip) => {
    const found = readArchive(zip);
    expect(found.code).toBe(code);
    expect(found.megabytes).toBeLessThan(MOST);
  });
});

describe('memory per entry during an import is small', () => {
  const count = 20_000;
  const data = deflateRawSync(Buffer.from('text'));
  const pages = (ending: string): Buffer =>
    zipOf(
      Array.from({ length: count }, (_, i) => ({
        path: `handbook/part-${Math.floor(i / 250)}/page-${i}.${ending}`,
        data,
        crc: crc32(Buffer.from('text')),
        size: 4,
      })),
    );

  // Two strings, an entry, an item and its places in three indexes take about 400 bytes; a hidden class of its own
  // takes 200 more.
  test.each([
    ['markdown_zip', 'md', 550],
    ['html_zip', 'html', 900],
    ['outline_zip', 'md', 900],
  ])('%s', (kind, ending, maxBytes) => {
    const held = runOn(pages(ending), './hold-archive.js', kind) as { items: number; each: number; found: number };
    expect(held.items).toBeGreaterThan(count);
    expect(held.found).toBe(held.items - 1);
    expect(held.each).toBeLessThan(maxBytes);
  });
});

function nested(): Buffer {
  const inner = zipOf([{ path: 'a', data: packed, crc, size: zeros.length }]);
  return zipOf([{ path: 'Part-1.zip', data: deflateRawSync(inner), crc: crc32(inner), size: inner.length }]);
}
