import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from '@jest/globals';
import { archive, FLAGS, folder, openArchive, patched, SIZE, saidToHave } from './archives.js';

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const unix = (mode: number) => ({ os: 3, attrs: mode << 16 });

/** Returns the error with which an archive is refused when it is opened or verified. */
async function refused(zip: Buffer, limits = {}): Promise<{ code?: string; message?: string }> {
  try {
    const bundle = await openArchive(zip, limits);
    await bundle.verify(() => false).finally(() => bundle.close());
    return {};
  } catch (error) {
    return error as { code: string; message: string };
  }
}

describe('an archive', () => {
  test('is read in any order, as whole entries and as streams', async () => {
    const big = 'abcdefghijklmnop'.repeat(200_000).replace(/a/g, () => String(Math.random()).slice(2, 3));
    const bundle = await openArchive(archive({ 'a/b.md': '# Hi', './c.txt': big, 'd/': '', 'Pa\u0301.md': 'x' }));
    expect(bundle.entries.map(({ path, sizeBytes }) => [path, sizeBytes])).toEqual([
      ['a/b.md', 4],
      ['c.txt', 3_200_000],
      ['P\u00e1.md', 1],
    ]);
    expect((await bundle.read('a/b.md', 10)).toString()).toBe('# Hi');
    expect(await text(await bundle.open('c.txt'))).toBe(big);
    expect((await bundle.read('c.txt', 4_000_000)).toString()).toBe(big);
    await expect(bundle.read('c.txt', 10)).rejects.toMatchObject({ code: 'item_too_large' });
    await expect(bundle.read('e', 10)).rejects.toMatchObject({ code: 'archive_entry_missing' });
    await bundle.verify(() => false);
    await bundle.close();
  });

  test.each([[['Pa\u0301.md', 'P\u00e1.md']], [['P\u00e1.md', 'Pa\u0301.md']]])(
    'may have paths that differ only in their Unicode normalization: %j',
    async (paths) => {
      const bundle = await openArchive(archive(Object.fromEntries(paths.map((path) => [path, path]))));
      expect(bundle.entries.map(({ path }) => path)).toEqual(paths);
      for (const path of paths) expect((await bundle.read(path, 10)).toString()).toBe(path);
      await bundle.close();
    },
  );

  test('of several parts is read as one, and leaves no files behind', async () => {
    const first = archive({ 'Team/a.md': 'A', 'index.md': '1' });
    const second = archive({ 'Team/b.md': 'B', 'index.md': '2' });
    const outer = archive({ 'Export-Part-1.zip': [first, {}], 'Export-Part-2.zip': [second, {}] });
    const bundle = await openArchive(archive({ 'all.zip': [outer, {}] }));
    expect(bundle.entries.map(({ path }) => path).sort()).toEqual([
      ...['Export-Part-2/index.md', 'Team/a.md', 'Team/b.md', 'index.md'],
    ]);
    expect((await bundle.read('Export-Part-2/index.md', 9)).toString()).toBe('2');
    expect(readdirSync(join(folder, 'scratch'))).toHaveLength(3);
    await bundle.close();
    expect(readdirSync(join(folder, 'scratch'))).toEqual([]);
  });

  test.each([
    ['archive_invalid', Buffer.from('no archive')],
    ['archive_unsafe_path', archive({ 'a/../../b': 'x' })],
    ['archive_unsafe_path', archive({ '..\\b': 'x' })],
    ['archive_unsafe_path', archive({ '/etc/passwd': 'x' })],
    ['archive_unsafe_path', archive({ 'C:/x': 'x' })],
    ['archive_unsafe_path', archive({ 'a\0b': 'x' })],
    ['archive_path_too_long', archive({ ['x'.repeat(201)]: 'x' })],
    ['archive_link', archive({ link: [Buffer.from('/etc/passwd'), unix(0o120777)] })],
    ['archive_link', archive({ pipe: [Buffer.from(''), unix(0o010644)] })],
    ['archive_encrypted', patched(archive({ a: 'x' }), FLAGS, 1, 2)],
    ['archive_too_many_entries', saidToHave(archive({ a: 'x' }), 60_000)],
    ['archive_size_mismatch', patched(archive({ a: 'x'.repeat(5000) }), SIZE, 10, 4)],
    ['archive_size_mismatch', patched(archive({ a: 'x'.repeat(5000) }), SIZE, 6000, 4)],
    ['archive_size_mismatch', patched(archive({ a: [Buffer.from('xx'), { level: 0 }] }), SIZE, 1, 4)],
    ['archive_duplicate_path', archive({ 'a/b': 'x', 'a//b': 'y' })],
    ['archive_ratio_exceeded', archive({ a: [Buffer.alloc(3_000_000), { level: 9 }] })],
  ])('is refused: %s', async (code, zip) => {
    expect(await refused(zip)).toMatchObject({ code });
    expect(readdirSync(join(folder, 'scratch'))).toEqual([]);
  });

  test('beyond a limit names the setting that raises it', async () => {
    const zip = archive({ a: Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * i) % 251)), b: 'x' });
    for (const [limits, code, setting] of [
      [{ archiveBytes: 100 }, 'archive_too_large', 'COMMONPLACE_IMPORT_ARCHIVE_BYTES'],
      [{ unpackedBytes: 5000 }, 'archive_unpacked_too_large', 'COMMONPLACE_IMPORT_UNPACKED_BYTES'],
      [{ entryBytes: 4999 }, 'archive_entry_too_large', 'COMMONPLACE_FILE_BYTES'],
      [{ entries: 1 }, 'archive_too_many_entries', 'COMMONPLACE_IMPORT_ENTRIES'],
    ] as const) {
      const { code: was, message } = await refused(zip, limits);
      expect([was, message?.includes(`The limit is ${Object.values(limits)[0]}`)]).toEqual([code, true]);
      expect(message).toContain(setting);
    }
  });

  test('is nested only up to a limit', async () => {
    let zip = archive({ 'a.md': 'x' });
    for (let i = 0; i < 4; i++) zip = archive({ [`${i}.zip`]: [zip, {}] });
    expect(await refused(zip)).toMatchObject({ code: 'archive_too_deep' });
    const bomb = archive({ z: [Buffer.alloc(4_000_000), { level: 9 }] });
    expect(await refused(archive({ 'Part-1.zip': [bomb, {}] }), { entryBytes: 1e9 })).toMatchObject({
      code: 'archive_ratio_exceeded',
    });
    expect(readdirSync(join(folder, 'scratch'))).toEqual([]);
  });

  test('with one damaged entry still returns the others', async () => {
    const zip = archive({ a: [Buffer.from('damaged'), { level: 0 }], b: 'fine' });
    zip.write('D', zip.indexOf('damaged'));
    const bundle = await openArchive(zip);
    await bundle.verify(() => false);
    await expect(bundle.read('a', 99)).rejects.toMatchObject({ code: 'archive_entry_damaged' });
    expect((await bundle.read('b', 99)).toString()).toBe('fine');
    await bundle.close();
  });
});
