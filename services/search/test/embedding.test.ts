import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '@commonplace/kit/log';
import { continuing, type SpanPlace, signals } from '@commonplace/kit/telemetry';
import { eventually } from '@commonplace/kit/testing';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { EmbedderFailure } from '../src/embedding/port.js';
import { entry, everythingIn, WORKSPACE } from '../src/index/contract/harness.js';
import type { SearchIndex } from '../src/index/port.js';
import { openSqliteIndex } from '../src/index/sqlite/index.js';
import { type EmbeddingWork, indexedModel, startEmbedding } from '../src/vectors/background.js';
import { createQueryEmbedder } from '../src/vectors/query-vector.js';
import { createFakeEmbedder, type FakeEmbedder } from './embedder.js';

const folder = mkdtempSync(join(tmpdir(), 'search-embedding-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let number = 0;
let index: SearchIndex;
let work: EmbeddingWork | undefined;

beforeEach(async () => {
  index = await openSqliteIndex({ path: join(folder, `${++number}.db`) });
});
afterEach(async () => {
  await work?.close();
  work = undefined;
  await index.close();
});

function start(embedder: FakeEmbedder, former: FakeEmbedder[] = [], on = index): EmbeddingWork {
  work = startEmbedding({ index: on, embedder, former, chunkTokens: 100, log: silentLog });
  return work;
}

const idOf = (embedder: FakeEmbedder): string => indexedModel(embedder.model, 100).id;

async function near(embedder: FakeEmbedder, words: string): Promise<string[]> {
  const [vector] = await embedder.embed([words], 'query');
  const hits = await index.nearest({
    model: idOf(embedder),
    vector: vector as Float32Array,
    filter: everythingIn(WORKSPACE),
    narrowing: {},
    groupBy: 'resource',
    limit: 1,
  });
  return hits.map(({ id }) => id);
}

describe('background embedding', () => {
  test('embeds existing entries, then sleeps until it is woken', async () => {
    const embedder = createFakeEmbedder();
    await index.upsert([entry('a', { text: 'about vacation' }), entry('b', { text: 'about cars' })]);
    const { wake, stats, serving } = start(embedder);
    await eventually(() => expect(stats()).toEqual({ embedded: 2, pending: 0, chunks: 2 }));
    expect(serving()).toMatchObject({ model: idOf(embedder), complete: true });
    expect(await near(embedder, 'holiday')).toEqual(['a']);
    const calls = embedder.calls.length;
    await index.upsert([entry('c', { text: 'wombats' })]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(embedder.calls.length).toBe(calls);
    wake();
    await eventually(async () => expect(await near(embedder, 'wombats')).toEqual(['c']));
  });

  test('embeds only the changed passages of an edited text', async () => {
    const embedder = createFakeEmbedder();
    const long = (words: string) => `many words about ${words} of which there are more than enough. `.repeat(12);
    const text = (last: string) => ['travel', 'food', last].map((one) => `# ${one}\n\n${long(one)}`).join('\n\n');
    await index.upsert([entry('a', { name: 'Guide', text: text('cars') })]);
    const { wake, stats } = start(embedder);
    await eventually(() => expect(stats()).toMatchObject({ embedded: 1, pending: 0 }));
    const sent = () => embedder.calls.filter(({ kind }) => kind === 'document').flatMap((call) => call.texts);
    const before = sent();
    await index.upsert([entry('a', { name: 'Guide', text: text('wombats'), version: 2 })]);
    wake();
    await eventually(async () => expect(await index.vectorStats(idOf(embedder))).toMatchObject({ pending: 0 }));
    const edited = sent().slice(before.length);
    expect(edited.length).toBeGreaterThan(0);
    expect(edited.filter((one) => before.includes(one))).toEqual([]);
    expect(edited.length).toBeLessThan(before.length);
  });

  test('gives the model each passage with its title', async () => {
    const embedder = createFakeEmbedder();
    const long = 'many words of which there are more than enough. '.repeat(20);
    await index.upsert([entry('a', { name: 'Guide', text: `# Travel\n\n${long}\n\n# Food\n\n${long}` })]);
    const { stats } = start(embedder);
    await eventually(() => expect(stats()).toMatchObject({ embedded: 1, pending: 0 }));
    const texts = embedder.calls.filter(({ kind }) => kind === 'document').flatMap((call) => call.texts);
    expect(texts.length).toBe(stats().chunks);
    expect(texts.length).toBeGreaterThan(3);
    expect(new Set(texts.map((text) => text.split('\n')[0]))).toEqual(
      new Set(['Guide', 'Guide › Travel', 'Guide › Food']),
    );
  });

  test('embeds many entries in small batches', async () => {
    const embedder = createFakeEmbedder();
    await index.upsert(Array.from({ length: 70 }, (_, i) => entry(`n${i}`, { text: `number ${i}` })));
    const { stats } = start(embedder);
    await eventually(() => expect(stats()).toMatchObject({ embedded: 70, pending: 0 }));
    for (const { texts } of embedder.calls) expect(texts.length).toBeLessThanOrEqual(16);
  });

  test('embeds recent changes before the rest of a long pass', async () => {
    const embedder = createFakeEmbedder();
    let isOpen = false;
    const waiting: (() => void)[] = [];
    const slow = {
      ...embedder,
      embed: async (texts: readonly string[], kind: 'query' | 'document') => {
        if (!isOpen) await new Promise<void>((resolve) => waiting.push(resolve));
        return embedder.embed(texts, kind);
      },
    };
    /** Lets the model answer, one call after the other, until something is so while the next call waits. */
    const answerUntil = async (isSo: () => Promise<boolean>) => {
      for (;;) {
        await eventually(() => expect(waiting.length).toBeGreaterThan(0));
        if (await isSo()) return;
        waiting.shift()?.();
      }
    };
    const long = 'many words of which there are more than enough. '.repeat(100);
    await index.upsert(Array.from({ length: 40 }, (_, i) => entry(`n${i}`, { text: long })));
    const { stats } = start(slow);
    await answerUntil(async () => stats().embedded > 0);
    await index.upsert([entry('fresh', { text: 'wombats' })]);
    await answerUntil(async () => (await near(embedder, 'wombats'))[0] === 'fresh');
    expect(stats().pending).toBeGreaterThan(10);
    isOpen = true;
    for (const go of waiting.splice(0)) go();
  });

  test('retries a model that fails, without losing entries', async () => {
    const embedder = createFakeEmbedder();
    embedder.failure = new EmbedderFailure('not now', true);
    await index.upsert([entry('a', { text: 'word' })]);
    const { stats, serving } = start(embedder);
    await eventually(() => expect(embedder.calls.length).toBeGreaterThan(0));
    expect(serving()).toBeUndefined();
    embedder.failure = undefined;
    await eventually(() => expect(stats()).toMatchObject({ embedded: 1, pending: 0 }));
  });

  test('continues with other entries when the model fails on one', async () => {
    const embedder = createFakeEmbedder();
    const picky = {
      ...embedder,
      embed: (texts: readonly string[], kind: 'query' | 'document') =>
        texts.some((text) => text.includes('poison')) ? Promise.reject(new Error('no')) : embedder.embed(texts, kind),
    };
    await index.upsert([entry('a', { text: 'fine' }), entry('p', { text: 'poison' }), entry('b', { text: 'good' })]);
    const { stats } = start(picky);
    await eventually(() => expect(stats()).toEqual({ embedded: 3, pending: 0, chunks: 2 }));
  });

  test('uses the vectors of a former model until the new ones are complete, then deletes them', async () => {
    const before = createFakeEmbedder('before');
    await index.upsert([entry('a', { text: 'about vacation' }), entry('b', { text: 'about cars' })]);
    const first = start(before);
    await eventually(() => expect(first.stats()).toMatchObject({ embedded: 2, pending: 0 }));
    await first.close();

    const after = createFakeEmbedder('after', 32);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = {
      ...after,
      embed: async (texts: readonly string[], kind: 'query' | 'document') => {
        await held;
        return after.embed(texts, kind);
      },
    };
    const second = start(slow, [before]);
    await eventually(() => expect(second.serving()?.model).toBe(idOf(before)));
    expect(second.serving()?.embedder).toBe(before);
    release();
    await eventually(() => expect(second.serving()?.model).toBe(idOf(after)));
    await eventually(async () => expect((await index.models()).map(({ id }) => id)).toEqual([idOf(after)]));
    expect(await near(after, 'holiday')).toEqual(['a']);
  });

  test('uses vectors of other chunks until the new ones are complete, then deletes them', async () => {
    const embedder = createFakeEmbedder();
    await index.upsert([entry('a', { text: 'about vacation' })]);
    const first = start(embedder);
    await eventually(() => expect(first.stats()).toMatchObject({ embedded: 1, pending: 0 }));
    await first.close();
    const before = indexedModel(embedder.model, 100).id;
    const after = indexedModel(embedder.model, 200).id;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = {
      ...embedder,
      embed: async (texts: readonly string[], kind: 'query' | 'document') => {
        await held;
        return embedder.embed(texts, kind);
      },
    };
    work = startEmbedding({ index, embedder: slow, chunkTokens: 200, log: silentLog });
    const second = work;
    await eventually(() => expect(second.serving()?.model).toBe(before));
    release();
    await eventually(() => expect(second.serving()?.model).toBe(after));
    await eventually(async () => expect((await index.models()).map(({ id }) => id)).toEqual([after]));
  });

  test('ends even if a model does not answer', async () => {
    const deaf = { ...createFakeEmbedder(), embed: () => new Promise<Float32Array[]>(() => {}) };
    await index.upsert([entry('a', { text: 'word' })]);
    const { close, stats } = start(deaf);
    await eventually(() => expect(stats().pending).toBe(1));
    await close();
  });

  test('uses another model id for other chunks', async () => {
    const embedder = createFakeEmbedder();
    expect(indexedModel(embedder.model, 100).id).not.toBe(indexedModel(embedder.model, 200).id);
  });
});

describe('query vector', () => {
  const serving = (embedder: FakeEmbedder) => () => ({ embedder, model: 'm', complete: true });

  test('is computed once', async () => {
    const embedder = createFakeEmbedder();
    const embed = createQueryEmbedder(serving(embedder), 1000);
    const one = await embed('word');
    expect(one).toMatchObject({ model: 'm', complete: true });
    expect(await embed('word')).toEqual(one);
    expect(embedder.calls).toEqual([{ texts: ['word'], kind: 'query' }]);
  });

  test('is given up after a timeout, and not requested for a while then', async () => {
    const embedder = createFakeEmbedder();
    embedder.slowness = 60_000;
    const embed = createQueryEmbedder(serving(embedder), 20);
    expect(await embed('word')).toBe('no answer');
    expect(await embed('other')).toBe('no answer');
    expect(embedder.calls.length).toBe(1);
  });

  test('is missing when the model fails, without vectors, or when embeddings are off', async () => {
    const embedder = createFakeEmbedder();
    embedder.failure = new EmbedderFailure('gone', false);
    expect(await createQueryEmbedder(serving(embedder), 1000)('word')).toBe('no answer');
    expect(await createQueryEmbedder(() => undefined, 1000)('word')).toBe('no vectors');
    expect(await createQueryEmbedder(undefined, 1000)('word')).toBe('off');
  });
});

describe('traces', () => {
  const place = (digit: string): SpanPlace => ({ traceId: digit.repeat(32), spanId: digit.repeat(16) });
  const traceparentOf = ({ traceId, spanId }: SpanPlace, flags = '01') => `00-${traceId}-${spanId}-${flags}`;
  afterEach(() => {
    signals.tracer = undefined;
  });

  test('link a pass to each sampled request whose changes it embeds', async () => {
    const started: { name: string; parent: SpanPlace | undefined; links: readonly SpanPlace[] }[] = [];
    let ids = 0;
    signals.tracer = {
      samples: () => true,
      start: (name, _kind, _attributes, parent, links = []) => {
        started.push({ name, parent, links });
        const own = parent ?? place('f');
        const made = { traceId: own.traceId, spanId: String(++ids).padStart(16, '0') };
        return { ...made, traceparent: traceparentOf(made), rename() {}, set() {}, end() {} };
      },
    };
    const embedder = createFakeEmbedder();
    const embedding = start(embedder);
    await eventually(() => expect(embedding.stats()).toMatchObject({ pending: 0 }));
    await index.upsert([entry('a', { text: 'word' })]);
    const wake = async () => embedding.wake();
    await continuing(traceparentOf(place('1')), 'process search-index', {}, wake);
    await continuing(traceparentOf(place('2')), 'process search-index', {}, wake);
    await continuing(traceparentOf(place('3'), '00'), 'process search-index', {}, wake);
    await eventually(() => expect(embedding.stats().embedded).toBe(1));
    const links = () => started.filter(({ name }) => name === 'embed entries').flatMap((span) => span.links);
    await eventually(() => expect(links().map(({ traceId }) => traceId[0])).toEqual(['1', '2']));
    expect(started.filter(({ name }) => name === 'embed entries').map(({ parent }) => parent)).not.toContainEqual(
      expect.anything(),
    );
  });
});
