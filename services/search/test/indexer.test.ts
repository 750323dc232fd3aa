import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DomainEvent } from '@commonplace/kit/events';
import { silentLog } from '@commonplace/kit/log';
import { eventually } from '@commonplace/kit/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createIndexer, type Indexer } from '../src/events.js';
import { type Bench, createBench, entry, everythingIn, WORKSPACE } from '../src/index/contract/harness.js';
import type { SearchIndex } from '../src/index/port.js';
import { openSqliteIndex } from '../src/index/sqlite/index.js';
import { openTypesenseIndex } from '../src/index/typesense/index.js';
import { createFakeResources, SYSTEM } from './fakes.js';

const folder = mkdtempSync(join(tmpdir(), 'search-indexer-'));
const resources = createFakeResources(everythingIn(WORKSPACE));
let bench: Bench;
let indexer: Indexer;

beforeAll(async () => {
  bench = createBench(await openSqliteIndex({ path: join(folder, 'search.db') }));
  indexer = createIndexer({ index: bench.index, resources, systemCall: () => SYSTEM, log: silentLog });
});
afterAll(async () => {
  await bench.index.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await bench.index.remove([...resources.entries.keys(), 'a', 'b', 'c']);
  resources.entries.clear();
  resources.calls.length = 0;
  resources.room = Number.POSITIVE_INFINITY;
});

function tree(...entries: ReturnType<typeof entry>[]): void {
  for (const one of entries) resources.entries.set(one.id, one);
}

function event(type: string, ...resourceIds: string[]): DomainEvent {
  const time = new Date().toISOString();
  return { type: `commonplace.resources.${type}`, time, data: { resourceIds } } as unknown as DomainEvent;
}

const found = async (): Promise<string[]> => (await bench.ids('word')).sort();

/** Creates an indexer that checks an unavailable engine often, and records what it logs about the wait. */
function waitingIndexer(index: SearchIndex, signal?: AbortSignal): Indexer & { waits: string[] } {
  const waits: string[] = [];
  const note = (event: string) => void waits.push(event);
  const log = { ...silentLog, warn: note, info: note };
  const options = { systemCall: () => SYSTEM, log, retryMs: 1, ...(signal !== undefined && { signal }) };
  return { ...createIndexer({ index, resources, ...options }), waits };
}

describe('indexer', () => {
  test('indexes the current state of each changed resource once', async () => {
    tree(entry('a', { text: 'word' }), entry('b', { text: 'word' }));
    await indexer.handle([event('resource.created', 'a', 'b'), event('content.updated', 'a')]);
    expect(await found()).toEqual(['a', 'b']);
    expect(resources.calls).toMatchObject([{ request: { ids: ['a', 'b'] } }]);
  });

  test('removes trashed and purged resources without asking their owner', async () => {
    tree(entry('a', { text: 'word' }), entry('b', { text: 'word' }));
    await indexer.handle([event('resource.created', 'a', 'b')]);
    resources.calls.length = 0;
    await indexer.handle([event('resource.trashed', 'a'), event('resource.purged', 'b')]);
    expect(await found()).toEqual([]);
    expect(resources.calls).toEqual([]);
  });

  test('removes entries that the owner no longer returns', async () => {
    tree(entry('a', { text: 'word' }));
    await indexer.handle([event('resource.created', 'a')]);
    resources.entries.clear();
    await indexer.handle([event('resource.updated', 'a')]);
    expect(await found()).toEqual([]);
  });

  test('requests entries again that did not fit into a response, and does not remove them', async () => {
    tree(entry('a', { text: 'word' }), entry('b', { text: 'word' }));
    await bench.index.upsert([entry('b', { text: 'word' }), entry('c', { text: 'word' })]);
    resources.room = 1;
    await indexer.handle([event('resource.updated', 'c', 'a', 'b')]);
    expect(await found()).toEqual(['a', 'b']);
    expect(resources.calls).toMatchObject([{ request: { ids: ['c', 'a', 'b'] } }, { request: { ids: ['b'] } }]);
    expect(resources.calls.every(({ request }) => (request as { mostBytes: number }).mostBytes > 0)).toBe(true);
  });

  test('fails when the owner returns none of the requested entries', async () => {
    tree(entry('a', { text: 'word' }));
    resources.room = 0;
    await expect(indexer.handle([event('resource.updated', 'a')])).rejects.toThrow('returned none');
  });

  test('handles events in any order and with repetitions', async () => {
    tree(entry('a', { text: 'word', version: 3 }));
    await indexer.handle([event('resource.restored', 'a'), event('resource.trashed', 'a')]);
    await indexer.handle([event('resource.trashed', 'a'), event('resource.restored', 'a')]);
    await indexer.handle([event('resource.restored', 'a')]);
    expect(await found()).toEqual(['a']);
  });

  test('handles concurrent batches one after the other', async () => {
    tree(entry('a', { text: 'word' }));
    const slow: typeof resources.getIndexEntries = async (request, options) => {
      const answer = await resources.getIndexEntries(request, options);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return answer;
    };
    const other = createIndexer({
      index: bench.index,
      resources: { ...resources, getIndexEntries: slow },
      systemCall: () => SYSTEM,
      log: silentLog,
    });
    await Promise.all([other.handle([event('resource.created', 'a')]), other.handle([event('resource.purged', 'a')])]);
    expect(await found()).toEqual([]);
  });

  test('requests at most a hundred entries at once', async () => {
    const ids = Array.from({ length: 250 }, (_, i) => `n${i}`);
    tree(...ids.map((id) => entry(id, { text: 'word' })));
    await indexer.handle([event('resource.moved', ...ids)]);
    expect(resources.calls.map(({ request }) => (request as { ids: string[] }).ids.length)).toEqual([100, 100, 50]);
    expect((await bench.ask('word')).total).toBe(250);
  });

  test('reports the age of the oldest pending event, and changes of entries', async () => {
    tree(entry('a', { text: 'word' }));
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let changes = 0;
    const getIndexEntries: typeof resources.getIndexEntries = async (request, options) => {
      await held;
      return resources.getIndexEntries(request, options);
    };
    const other = createIndexer({
      index: bench.index,
      resources: { ...resources, getIndexEntries },
      systemCall: () => SYSTEM,
      log: silentLog,
      changed: () => changes++,
    });
    expect(other.lag()).toBe(0);
    const time = new Date(Date.now() - 60_000).toISOString();
    const done = other.handle([{ ...event('resource.created', 'a'), time }]);
    expect(other.lag()).toBeGreaterThanOrEqual(60_000);
    expect(changes).toBe(0);
    release();
    await done;
    await eventually(() => expect(other.lag()).toBe(0));
    expect(changes).toBe(1);
  });

  test('debounces a long text that was indexed a moment ago', async () => {
    const stop = new AbortController();
    const other = createIndexer({
      index: bench.index,
      resources,
      systemCall: () => SYSTEM,
      log: silentLog,
      signal: stop.signal,
    });
    tree(entry('a', { text: 'word '.repeat(10_000), version: 1 }), entry('b', { text: 'word' }));
    await other.handle([event('content.updated', 'a')]);
    resources.calls.length = 0;
    tree(entry('a', { text: `${'word '.repeat(10_000)} other`, version: 2 }));
    await other.handle([event('content.updated', 'a'), event('content.updated', 'b'), event('content.updated', 'a')]);
    expect(resources.calls.map(({ request }) => (request as { ids: string[] }).ids)).toEqual([['b'], ['a']]);
    expect(await bench.ids('other')).toEqual(['a']);
    // An aborted signal ends all waiting.
    stop.abort();
    await other.handle([event('content.updated', 'a')]);
  });

  test('reports an event that fails and handles the next one', async () => {
    const failing = { ...resources, getIndexEntries: () => Promise.reject(new Error('owner is down')) };
    const other = createIndexer({ index: bench.index, resources: failing, systemCall: () => SYSTEM, log: silentLog });
    await expect(other.handle([event('resource.created', 'a')])).rejects.toThrow('owner is down');
    await other.handle([event('resource.purged', 'a')]);
  });

  test('ends its wait for Typesense that cannot be reached, and does not count it as an attempt', async () => {
    const index = openTypesenseIndex({ urls: ['http://127.0.0.1:9'], apiKey: 'k', prefix: 'p', timeoutMs: 500 });
    const stop = new AbortController();
    const other = waitingIndexer(index, stop.signal);
    tree(entry('a', { text: 'word' }));
    const failure = other.handle([event('resource.created', 'a')]).catch((error: unknown) => error);
    await eventually(() => expect(other.waits).toEqual(['events.waiting']));
    stop.abort();
    expect(await failure).toMatchObject({ code: 'UNAVAILABLE', reason: 'dependency_unavailable' });
    await index.close();
  });

  test.each([
    ['is not ready', () => 503, 'Not Ready or Lagging'],
    ['refuses the API key', () => 401, 'Forbidden - a valid `x-typesense-api-key` header must be sent.'],
    [
      'has no disk space',
      (path: string) => (path === '/health' ? 503 : 422),
      'Rejecting write: running out of resource',
    ],
  ])('waits while Typesense %s, and does not count it as an attempt', async (_, refusal, message) => {
    let refuses = true;
    const server = createServer(({ url = '' }, response) => {
      response.setHeader('Content-Type', 'application/json');
      if (refuses) response.writeHead(refusal(url)).end(JSON.stringify({ message }));
      else response.writeHead(200).end('{"ok": true, "aliases": []}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const urls = [`http://127.0.0.1:${(server.address() as AddressInfo).port}`];
    const index = openTypesenseIndex({ urls, apiKey: 'k', prefix: 'p', timeoutMs: 500 });
    tree(entry('a', { text: 'word' }));
    const other = waitingIndexer(index);
    let ended = false;
    const failure = other
      .handle([event('resource.created', 'a')])
      .catch((error: unknown) => error)
      .finally(() => {
        ended = true;
      });
    await eventually(() => expect(other.waits).toEqual(['events.waiting']));
    expect([ended, other.lag() > 0]).toEqual([false, true]);
    refuses = false;
    expect(await failure).toMatchObject({ code: 'UNAVAILABLE', reason: 'dependency_unavailable' });
    expect(other.waits).toEqual(['events.waiting', 'events.continued']);
    await index.close();
    server.closeAllConnections();
    server.close();
  });

  test('replaces all entries by those of the owner in a rebuild', async () => {
    tree(entry('a', { text: 'word' }));
    await indexer.handle([event('resource.created', 'a')]);
    resources.entries.clear();
    tree(entry('b', { text: 'word' }), entry('c', { text: 'word' }));
    await Promise.all([indexer.rebuild(), indexer.rebuild()]);
    expect(await found()).toEqual(['b', 'c']);
    expect(resources.calls.filter(({ method }) => method === 'streamIndexEntries').length).toBe(1);
  });

  test('leaves the index unchanged when a rebuild fails', async () => {
    tree(entry('a', { text: 'word' }));
    await indexer.handle([event('resource.created', 'a')]);
    async function* failing() {
      yield { entries: [entry('b', { text: 'word' })], leftIds: [] };
      throw new Error('stream broke');
    }
    const other = createIndexer({
      index: bench.index,
      resources: { ...resources, streamIndexEntries: failing },
      systemCall: () => SYSTEM,
      log: silentLog,
    });
    await expect(other.rebuild()).rejects.toThrow('stream broke');
    expect(await found()).toEqual(['a']);
  });

  test('builds an incomplete index, and retries when that fails', async () => {
    const index = await openSqliteIndex({ path: join(folder, 'young.db') });
    let tries = 0;
    const stream: typeof resources.streamIndexEntries = (request, options) => {
      tries++;
      if (tries === 1) throw new Error('not yet');
      return resources.streamIndexEntries(request, options);
    };
    tree(entry('a', { text: 'word' }));
    const other = createIndexer({
      index,
      resources: { ...resources, streamIndexEntries: stream },
      systemCall: () => SYSTEM,
      log: silentLog,
    });
    await other.ensureBuilt(new AbortController().signal);
    expect(await index.needsRebuild()).toBe(false);
    await other.ensureBuilt(new AbortController().signal);
    expect(tries).toBe(2);
    expect(await createBench(index).ids('word')).toEqual(['a']);
    await index.close();
  });

  test('aborts a build with its signal', async () => {
    const index = await openSqliteIndex({ path: join(folder, 'given-up.db') });
    const stop = new AbortController();
    async function* endless() {
      for (let i = 0; ; i++) {
        if (i === 3) stop.abort();
        yield { entries: [entry(`n${i}`, { text: 'word' })], leftIds: [] };
      }
    }
    const other = createIndexer({
      index,
      resources: { ...resources, streamIndexEntries: endless },
      systemCall: () => SYSTEM,
      log: silentLog,
    });
    await other.ensureBuilt(stop.signal);
    expect(await index.needsRebuild()).toBe(true);
    await index.close();
  });
});
