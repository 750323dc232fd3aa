import { openGuard } from '@commonplace/kit/fetch';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { embedderContract } from '../src/embedding/contract.js';
import { type OpenAiSettings, openOpenAiEmbedder } from '../src/embedding/openai/embedder.js';
import type { Embedder } from '../src/embedding/port.js';
import { type Answer, type Double, embed, fail, openDouble, say } from './openai-double.js';

const LENGTH = 16;
const KEY = 'sk-test';
const AT_ONCE = { 'retry-after-ms': '1' };

let double: Double;
const opened: Embedder[] = [];

function open(parts: Partial<OpenAiSettings> = {}): Embedder {
  const settings = {
    url: double.url,
    apiKey: KEY,
    model: 'some-embedding-model',
    dimensions: LENGTH,
    maxTokens: 100,
    batch: 64,
    timeoutMs: 5000,
    retries: 2,
    ...parts,
  };
  const embedder = openOpenAiEmbedder(settings, openGuard({ allowlist: ['127.0.0.1'] }));
  opened.push(embedder);
  return embedder;
}

beforeAll(async () => {
  double = await openDouble({ key: KEY, length: LENGTH });
});

afterAll(() => double.close());

embedderContract('an OpenAI-compatible endpoint', { open: () => open() });

describe('an OpenAI-compatible endpoint', () => {
  beforeEach(() => {
    double.requests.length = 0;
  });

  afterEach(async () => {
    for (const embedder of opened.splice(0)) await embedder.close();
  });

  const failsWith = (embedder: Embedder, about: { retryable: boolean; message?: unknown }) =>
    expect(embedder.embed(['text'], 'query')).rejects.toMatchObject({ name: 'EmbedderFailure', ...about });

  test('receives texts in batches, truncated to what the model reads', async () => {
    const embedder = open({ batch: 2 });
    await embedder.embed(['a', 'b', 'x'.repeat(1000)], 'document');
    expect(double.requests.map(({ input }) => input.map(({ length }) => length))).toEqual([[1, 1], [300]]);
    expect(double.requests[0]).toMatchObject({ model: 'some-embedding-model', dimensions: undefined });
  });

  test('reports the tokens of each request as the endpoint counts them', async () => {
    const counted: unknown[] = [];
    await open({ batch: 2 }).embed(['a', 'b', 'c'], 'document', undefined, (tokens) => counted.push(tokens));
    const request = { tokens: 8, isEstimated: false };
    expect(counted).toEqual([request, request]);
  });

  test('is asked for the configured vector length once it has returned longer vectors', async () => {
    const embedder = open({ dimensions: 8 });
    expect((await embedder.embed(['a'], 'query'))[0]).toHaveLength(8);
    await embedder.embed(['b'], 'query');
    expect(double.requests.map(({ dimensions }) => dimensions)).toEqual([undefined, 8, 8]);
  });

  test('is retried after status 429 and server errors', async () => {
    double.next(fail(429, 'slow down', AT_ONCE), fail(503, 'overloaded', AT_ONCE));
    expect(await open().embed(['text'], 'query')).toHaveLength(1);
    expect(double.requests).toHaveLength(3);
  });

  test.each([
    [429, true],
    [500, true],
    [400, false],
    [401, false],
    [404, false],
  ])('fails after repeated status %i (retryable: %s)', async (status, retryable) => {
    double.next(...Array.from({ length: retryable ? 3 : 1 }, () => fail(status, 'SECRET TEXT', AT_ONCE)));
    const message = expect.not.stringContaining('SECRET');
    await failsWith(open(), { retryable, message });
    expect(double.requests).toHaveLength(retryable ? 3 : 1);
  });

  test('is retried, then fails, when it does not answer in time or closes the connection', async () => {
    const silent: Answer = () => undefined;
    double.next(silent);
    await failsWith(open({ timeoutMs: 50, retries: 0 }), { retryable: true });
    const hangUp: Answer = (response) => response.destroy();
    double.next(hangUp);
    await failsWith(open({ retries: 0 }), { retryable: true });
    double.next(hangUp);
    expect(await open({ retries: 1 }).embed(['text'], 'query')).toHaveLength(1);
  });

  test.each<[string, unknown]>([
    ['no object', 'fine'],
    ['no list', { object: 'list' }],
    ['fewer embeddings than texts', { data: [] }],
    [
      'more embeddings than texts',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 1, embedding: [1] },
        ],
      },
    ],
    [
      'an index twice',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 0, embedding: [1] },
        ],
      },
    ],
    ['an index of another text', { data: [{ index: 7, embedding: [1] }] }],
    ['words for numbers', { data: [{ index: 0, embedding: ['1'] }] }],
    ['no numbers', { data: [{ index: 0, embedding: [] }] }],
    ['nothing but zeros', { data: [{ index: 0, embedding: [0, 0] }] }],
    ['another length', { data: [{ index: 0, embedding: [1, 2, 3] }] }],
  ])('fails on a response with %s', async (_, body) => {
    double.next(say(body));
    await expect(open().embed(['text'], 'query')).rejects.toMatchObject({ name: 'EmbedderFailure' });
  });

  test('is not followed to a redirect', async () => {
    const redirect: Answer = (response) => response.writeHead(307, { location: 'http://169.254.169.254/' }).end();
    double.next(redirect);
    await failsWith(open(), { retryable: false });
    expect(double.requests).toHaveLength(1);
  });

  test('receives no key when none is set', async () => {
    const free = await openDouble({ key: undefined, length: LENGTH });
    expect(await open({ url: free.url, apiKey: undefined }).embed(['text'], 'query')).toHaveLength(1);
    await free.close();
  });

  test('is a retryable failure when nothing listens there', async () => {
    const gone = await openDouble({ key: KEY, length: LENGTH });
    await gone.close();
    await failsWith(open({ url: gone.url, retries: 0 }), { retryable: true });
  });

  test('answers normally again afterwards', async () => {
    double.next(embed(LENGTH));
    expect(await open().embed(['text'], 'query')).toHaveLength(1);
  });
});
