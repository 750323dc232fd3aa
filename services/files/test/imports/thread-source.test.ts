import { afterEach, describe, expect, test } from '@jest/globals';
import { ArchiveFault } from '../../src/imports/bundle/limits.js';
import type { Bundle } from '../../src/imports/sources/port.js';
import { openThreadSource, type ThreadSource } from '../../src/imports/thread/source.js';
import { bundleOf } from './sources/bundle.js';

const opened: ThreadSource[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((source) => source.close()));
});

/** Copies the bytes of each read, because the bytes of a reply are transferred to the thread. */
function copying(bundle: Bundle): Bundle {
  return { ...bundle, read: async (path, limit) => Buffer.from(await bundle.read(path, limit)) };
}

async function open(type: string, files: Record<string, string>, bounds?: { heapMiB: number; itemMs: number }) {
  const source = await openThreadSource(type, copying(bundleOf(files)), {}, bounds);
  opened.push(source);
  return source;
}

describe('a source in a thread', () => {
  test('returns items, their properties, and contents with redirected links', async () => {
    const source = await open('html_zip', {
      'a.html':
        '<title>First</title><p><a href="b.html#x">b</a> <a href="b.html#x">again</a> <a href="gone.html">gone</a></p>',
      'b.html': '<title>Second</title><p>Text</p>',
      'style.css': '',
    });
    expect(source.items.map(({ path }) => path)).toEqual(['a.html', 'b.html']);
    expect(source.skipped).toMatchObject([{ path: 'style.css', code: 'presentation' }]);
    const [first] = source.items;
    if (first === undefined) throw new Error('no item');
    expect(await source.read(first)).toMatchObject({ title: 'First' });
    const received: unknown[] = [];
    const { fields } = await source.body(first, (href, times) => {
      const target = source.resolve(first, href.split('#')[0] as string);
      received.push([href, times, target]);
      return 'item' in target ? 'resource:1#x' : undefined;
    });
    expect(received).toEqual([
      ['b.html#x', 2, { item: 'b.html' }],
      ['gone.html', 1, { broken: true }],
    ]);
    expect(fields.html?.match(/resource:1#x/g)).toHaveLength(2);
    expect(fields.html).toContain('gone.html');
  });

  test('returns no text that resources refuse: NULs and halves of characters', async () => {
    const json = '[{"a\\u0000": "x\\u0000", "in": {"k\\u0000": ["v\\ud800"]}}]';
    const written = async (type: string, name: string, text: string) => {
      const source = await open(type, { [name]: text });
      const [item] = source.items;
      if (item === undefined) throw new Error('no item');
      const facts = await source.read(item);
      const { fields } = await source.body(item, () => undefined);
      return { facts, text: fields.html ?? fields.markdown ?? String(fields.contentJson) };
    };
    expect((await written('html_zip', 'a.html', '<p>a\0b</p><img alt="q\0" src="x.png">')).text).not.toContain('\0');
    const table = JSON.parse((await written('json', 'a.json', json)).text);
    expect(table).toMatchObject({ columns: [{ name: 'a' }, { name: 'in' }], rows: [['x', { k: ['v\ufffd'] }]] });
    const page = await written('markdown_zip', 'a.md', '---\nnote: "a\\0b"\n---\nx');
    expect(page.facts.metadata).toEqual({ note: 'ab' });
  });

  test('resolves every link in any number of parts', async () => {
    const links = Array.from({ length: 2500 }, (_, i) => `[a](${i}.md)`).join('\n\n');
    const source = await open('markdown', { 'a.md': links });
    const [page] = source.items;
    if (page === undefined) throw new Error('no item');
    await source.read(page);
    let count = 0;
    const { fields } = await source.body(page, (href) => {
      count++;
      return `resource:${href}`;
    });
    expect(count).toBe(2500);
    expect(fields.markdown).toContain('(resource:2499.md)');
  });

  test('returns a large table in parts', async () => {
    const rows = Array.from({ length: 25_000 }, (_, i) => `${i},text`).join('\n');
    const source = await open('csv', { 'a.csv': `A,B\n${rows}` });
    const [table] = source.items;
    if (table === undefined) throw new Error('no item');
    await source.read(table);
    const body = await source.body(table, () => undefined);
    expect(body.rows).toBe(25_000);
    const first = JSON.parse(String(body.fields.contentJson)) as { rows: unknown[] };
    let count = first.rows.length;
    for await (const piece of body.further?.() ?? []) {
      expect(piece.rowsFrom).toBe(count);
      count += (JSON.parse(String(piece.contentJson)) as { rows: unknown[] }).rows.length;
    }
    expect(count).toBe(25_000);
  });

  test('rejects with a fault of the archive as it was thrown', async () => {
    const bundle = bundleOf({ 'a.html': '<p>a</p>', 'b.html': '<p>b</p>' });
    const fault = new ArchiveFault('archive_entry_damaged', 'It is damaged.');
    const source = await openThreadSource('html_zip', { ...bundle, read: () => Promise.reject(fault) }, {});
    opened.push(source);
    const [page] = source.items;
    await expect(page && source.read(page)).rejects.toBe(fault);
  });

  test('rejects a source of another type than stated', async () => {
    await expect(open('html_zip', { 'a.txt': 'a', 'b.txt': 'b' })).rejects.toMatchObject({ code: 'no_pages' });
  });

  test('refuses a page that takes too much memory, and reads the next one', async () => {
    const files = { 'a.html': '<b>x</b>'.repeat(1_400_000), 'b.html': '<title>Second</title><p>b</p>' };
    const source = await open('html_zip', files, { heapMiB: 64, itemMs: 120_000 });
    const [large, small] = source.items;
    if (large === undefined || small === undefined) throw new Error('no items');
    await expect(source.read(large)).rejects.toMatchObject({ code: 'page_too_complex', retryable: false });
    expect(await source.read(small)).toMatchObject({ title: 'Second' });
  }, 180_000);

  test('refuses a page that takes too long, and reads the next one', async () => {
    const files = { 'a.html': '<b>x</b>'.repeat(1_400_000), 'b.html': '<title>Second</title><p>b</p>' };
    const source = await open('html_zip', files);
    await source.close();
    const hurried = await open('html_zip', files, { heapMiB: 512, itemMs: 1 });
    const [large] = hurried.items;
    await expect(large && hurried.read(large)).rejects.toMatchObject({ code: 'page_too_complex' });
  }, 180_000);
});
