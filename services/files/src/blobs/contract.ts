import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createDuties, type OptOuts } from '@commonplace/kit/testing';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BlobMissing, type BlobStore, WrongBytes } from './port.js';

/** Smallest part in bytes that a bucket accepts when another part follows. */
const PART = 5 * 1024 * 1024;

interface BlobHarness {
  readonly store: BlobStore;
  close(): Promise<void>;
}

/** Tests an adapter of the blob store against each duty of `port.ts`. */
export function blobContract(name: string, open: () => Promise<BlobHarness>, optOuts: OptOuts = {}): void {
  describe(`blobs in ${name}`, () => {
    let harness: BlobHarness | undefined;
    beforeAll(async () => {
      harness = await open();
    }, 60_000);
    afterAll(() => harness?.close(), 60_000);
    const duty = createDuties(optOuts);
    const use = (): BlobStore => {
      if (harness === undefined) throw new Error('the store did not open');
      return harness.store;
    };
    const newKey = () => `aa/${randomUUID()}`;

    duty('returns what was put, with its size and checksum', async () => {
      const [store, key] = [use(), newKey()];
      const bytes = randomBytes(300_000);
      const stored = await store.put(key, cut(bytes, 70_000));
      expect(stored).toEqual(factsOf(bytes));
      expect(await store.size(key)).toBe(bytes.length);
      expect(await all(store.read(key))).toEqual(bytes);
    });

    duty('stores empty blobs', async () => {
      const [store, key] = [use(), newKey()];
      expect(await store.put(key, [])).toEqual(factsOf(Buffer.alloc(0)));
      expect(await store.size(key)).toBe(0);
      expect(await all(store.read(key))).toEqual(Buffer.alloc(0));
    });

    duty('stores more bytes than it holds in memory', async () => {
      const [store, key] = [use(), newKey()];
      const bytes = randomBytes(20 * 1024 * 1024);
      expect(await store.put(key, cut(bytes, 1024 * 1024))).toEqual(factsOf(bytes));
      expect(factsOf(await all(store.read(key)))).toEqual(factsOf(bytes));
    });

    duty('reads a range, up to the end', async () => {
      const [store, key] = [use(), newKey()];
      const bytes = randomBytes(1000);
      await store.put(key, [bytes]);
      const range = async (offset: number, length: number) => all(store.read(key, { offset, length }));
      expect(await range(0, 10)).toEqual(bytes.subarray(0, 10));
      expect(await range(500, 100)).toEqual(bytes.subarray(500, 600));
      expect(await range(990, 100)).toEqual(bytes.subarray(990));
      expect(await range(1000, 100)).toEqual(Buffer.alloc(0));
    });

    duty('stores nothing when the source fails', async () => {
      const [store, key] = [use(), newKey()];
      await expect(store.put(key, failing(PART * 2))).rejects.toThrow('no more');
      expect(await store.size(key)).toBeUndefined();
      await store.put(key, [Buffer.from('before')]);
      await expect(store.put(key, failing(10))).rejects.toThrow('no more');
      expect(await all(store.read(key))).toEqual(Buffer.from('before'));
    });

    duty('refuses unexpected bytes and keeps none', async () => {
      const store = use();
      for (const bytes of [randomBytes(100), randomBytes(PART * 2)]) {
        const key = newKey();
        const { sizeBytes, sha256 } = factsOf(bytes);
        const wrong = { sizeBytes, sha256: '0'.repeat(64) };
        await expect(store.put(key, cut(bytes, PART), wrong)).rejects.toThrow(WrongBytes);
        await expect(store.put(key, cut(bytes, PART), { sizeBytes: 99 })).rejects.toThrow(WrongBytes);
        expect(await store.size(key)).toBeUndefined();
        await store.put(key, cut(bytes, PART), { sizeBytes, sha256 });
      }
    });

    duty('never shows an incomplete put', async () => {
      const [store, key] = [use(), newKey()];
      const [before, after] = [randomBytes(200_000), randomBytes(200_000)];
      await store.put(key, [before]);
      const put = store.put(key, slowly(after));
      for (let i = 0; i < 5; i++) {
        const seen = await all(store.read(key));
        expect([before, after].some((one) => one.equals(seen))).toBe(true);
      }
      await put;
      expect(await all(store.read(key))).toEqual(after);
    });

    duty('reports a missing key, and ignores its deletion', async () => {
      const [store, key] = [use(), newKey()];
      expect(await store.size(key)).toBeUndefined();
      await expect(all(store.read(key))).rejects.toThrow(BlobMissing);
      await store.delete(key);
      await store.put(key, [Buffer.from('x')]);
      await store.delete(key);
      expect(await store.size(key)).toBeUndefined();
    });

    duty('refuses keys that are not plain paths', async () => {
      for (const key of ['', '/a', 'a/', '../a', 'a/../b', 'a//b', 'A', 'a b', 'a\0b']) {
        await expect(async () => use().put(key, [])).rejects.toThrow('is not a valid key');
      }
    });

    duty('lists every key below a prefix, and no other', async () => {
      const store = use();
      const folder = `l${randomUUID().slice(0, 8)}`;
      const keys = [`${folder}/a`, `${folder}/a.w64`, `${folder}/b`, `${folder}x/c`];
      for (const key of keys) await store.put(key, [Buffer.from(key)]);
      const begun = await store.beginParts(`${folder}/d`);
      await store.putPart(`${folder}/d`, begun, 1, [Buffer.from('part')]);
      expect(await keysOf(store.list(`${folder}/`))).toEqual(keys.slice(0, 3));
      expect(await keysOf(store.list(`${folder}/a`))).toEqual(keys.slice(0, 2));
      await store.abortParts(`${folder}/d`, begun);
    });

    duty('joins parts in order, even if they arrive out of order or repeatedly', async () => {
      const [store, key] = [use(), newKey()];
      const bytes = randomBytes(PART * 2 + 1000);
      const upload = await store.beginParts(key);
      const part = (number: number) => bytes.subarray((number - 1) * PART, number * PART);
      await store.putPart(key, upload, 3, [part(3)]);
      await store.putPart(key, upload, 1, [Buffer.alloc(PART)]);
      await store.putPart(key, upload, 1, [part(1)]);
      expect((await store.parts(key, upload)).map(({ number }) => number)).toEqual([1, 3]);
      await store.putPart(key, upload, 2, [part(2)]);
      expect(await store.parts(key, upload)).toEqual([
        { number: 1, sizeBytes: PART },
        { number: 2, sizeBytes: PART },
        { number: 3, sizeBytes: 1000 },
      ]);
      expect(await store.size(key)).toBeUndefined();
      expect(await store.completeParts(key, upload, factsOf(bytes))).toEqual(factsOf(bytes));
      expect(factsOf(await all(store.read(key)))).toEqual(factsOf(bytes));
      expect(await store.parts(key, upload)).toEqual([]);
      expect(await unfinishedOf(store)).not.toContain(key);
    });

    duty('completes again after a crash what was already completed', async () => {
      const [store, key] = [use(), newKey()];
      const upload = await store.beginParts(key);
      await store.putPart(key, upload, 1, [Buffer.from('all of it')]);
      const stored = await store.completeParts(key, upload);
      expect(await store.completeParts(key, upload)).toEqual(stored);
    });

    duty('stores nothing from unexpected parts', async () => {
      const [store, key] = [use(), newKey()];
      const upload = await store.beginParts(key);
      await store.putPart(key, upload, 1, [Buffer.from('something')]);
      await expect(store.completeParts(key, upload, { sha256: '0'.repeat(64) })).rejects.toThrow(WrongBytes);
      expect(await store.size(key)).toBeUndefined();
      await store.abortParts(key, upload);
    });

    duty('lists incomplete parts and aborts them', async () => {
      const [store, key] = [use(), newKey()];
      const upload = await store.beginParts(key);
      await store.putPart(key, upload, 1, [Buffer.from('part')]);
      expect(await unfinishedOf(store)).toContain(key);
      await store.abortParts(key, upload);
      await store.abortParts(key, upload);
      expect(await unfinishedOf(store)).not.toContain(key);
      expect(await store.parts(key, upload)).toEqual([]);
    });

    duty('moves bytes to another key and checks them', async () => {
      const [store, from, to] = [use(), newKey(), newKey()];
      const bytes = randomBytes(1000);
      await store.put(from, [bytes]);
      await expect(store.move(from, to, { sizeBytes: 1 })).rejects.toThrow(WrongBytes);
      expect(await store.size(to)).toBeUndefined();
      expect(await store.move(from, to, factsOf(bytes))).toEqual(factsOf(bytes));
      expect([await store.size(from), await all(store.read(to))]).toEqual([undefined, bytes]);
      expect(await store.move(from, to)).toEqual(factsOf(bytes));
      await expect(store.move(from, newKey())).rejects.toThrow(BlobMissing);
    });

    duty('signs a URL that reads one key, with headers and ranges', async () => {
      const [store, key, other] = [use(), newKey(), newKey()];
      await store.put(key, [Buffer.from('0123456789')]);
      await store.put(other, [Buffer.from('secret')]);
      const shown = { contentType: 'text/plain', contentDisposition: 'attachment; filename="x.txt"' };
      const { url } = await required(store.signGet(key, 60, shown));
      const answer = await fetch(url);
      expect([answer.status, await answer.text()]).toEqual([200, '0123456789']);
      expect(answer.headers.get('content-disposition')).toBe(shown.contentDisposition);
      expect(answer.headers.get('content-type')).toBe('text/plain');
      const part = await fetch(url, { headers: { range: 'bytes=2-4' } });
      expect([part.status, await part.text()]).toEqual([206, '234']);
      expect((await fetch(url, { method: 'PUT', body: 'x' })).ok).toBe(false);
      expect((await fetch(url.replace(key, other))).ok).toBe(false);
      expect((await fetch(url.replace('x.txt', 'x.html'))).ok).toBe(false);
    });

    duty('signs a URL that accepts only the announced bytes', async () => {
      const [store, key] = [use(), newKey()];
      const bytes = randomBytes(1000);
      const { url, headers } = await required(store.signPut(key, 60, factsOf(bytes)));
      expect((await fetch(url, { method: 'PUT', headers, body: randomBytes(1000) })).ok).toBe(false);
      expect((await fetch(url, { method: 'PUT', headers, body: randomBytes(999) })).ok).toBe(false);
      expect((await fetch(url)).ok).toBe(false);
      expect(await store.size(key)).toBeUndefined();
      expect((await fetch(url, { method: 'PUT', headers, body: bytes })).status).toBe(200);
      expect(await all(store.read(key))).toEqual(bytes);
    });

    duty('signs URLs of parts', async () => {
      const [store, key] = [use(), newKey()];
      const upload = await store.beginParts(key);
      const { url, headers } = await required(store.signPart(key, upload, 1, 60));
      expect((await fetch(url, { method: 'PUT', headers, body: 'a part' })).status).toBe(200);
      expect((await fetch(url.replace('partNumber=1', 'partNumber=2'), { method: 'PUT', body: 'x' })).ok).toBe(false);
      expect(await store.completeParts(key, upload)).toEqual(factsOf(Buffer.from('a part')));
    });
    duty.finish();
  });
}

async function required<T>(value: Promise<T | undefined>): Promise<T> {
  const given = await value;
  if (given === undefined) throw new Error('the store does not sign URLs');
  return given;
}

function factsOf(bytes: Buffer) {
  return { sizeBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

async function all(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function* cut(bytes: Buffer, size: number): Iterable<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function* failing(bytes: number): AsyncIterable<Buffer> {
  yield randomBytes(bytes);
  throw new Error('no more');
}

async function* slowly(bytes: Buffer): AsyncIterable<Buffer> {
  for (const chunk of cut(bytes, 20_000)) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    yield chunk;
  }
}

async function keysOf(listed: AsyncIterable<{ readonly key: string }>): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of listed) keys.push(key);
  return keys.sort();
}

function unfinishedOf(store: BlobStore): Promise<string[]> {
  return keysOf(store.unfinished(''));
}
