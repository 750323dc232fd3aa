import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { dot, embedderContract } from '../src/embedding/contract.js';
import { openLocalEmbedder } from '../src/embedding/local/embedder.js';
import { bundledFolder, readModel } from '../src/embedding/local/model.js';
import type { Embedder } from '../src/embedding/port.js';

const settings = { threads: 1, idleMs: 60_000 };
const open = () => openLocalEmbedder(readModel(bundledFolder()), settings);

embedderContract('the local model', { open });

describe('local model', () => {
  let embedder: Embedder;

  beforeAll(() => {
    embedder = open();
  });

  afterAll(() => embedder.close());

  test('embeds texts with similar meaning near each other without a common word', async () => {
    const [query] = await embedder.embed(['How many days off do I get?'], 'query');
    const [near, far] = await embedder.embed(
      ['Employees are entitled to 25 days of paid vacation.', 'The database is backed up every night.'],
      'document',
    );
    const nearness = dot(query as Float32Array, near as Float32Array);
    expect(nearness).toBeGreaterThan(dot(query as Float32Array, far as Float32Array) + 0.1);
  });

  test('truncates a text to the tokens that the model reads', async () => {
    const head = 'one two three four '.repeat(100);
    const [a, b] = await embedder.embed([`${head} red`, `${head} blue and much more`], 'document');
    expect(dot(a as Float32Array, b as Float32Array)).toBeCloseTo(1, 5);
  });

  test('ends its process when idle, and starts it again', async () => {
    const brief = openLocalEmbedder(readModel(bundledFolder()), { threads: 1, idleMs: 1 });
    const [first] = await brief.embed(['text'], 'query');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const [second] = await brief.embed(['text'], 'query');
    expect(dot(first as Float32Array, second as Float32Array)).toBeCloseTo(1, 6);
    await brief.close();
  });

  test('fails permanently when the model of a folder cannot be loaded', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'commonplace-model-'));
    writeFileSync(join(folder, 'model.onnx'), 'no model');
    writeFileSync(join(folder, 'tokenizer.json'), '{}');
    const broken = openLocalEmbedder({ ...readModel(bundledFolder()), folder }, settings);
    await expect(broken.embed(['text'], 'query')).rejects.toMatchObject({ name: 'EmbedderFailure', retryable: false });
    await broken.close();
    rmSync(folder, { recursive: true });
  });

  test('refuses an incomplete description of a model', () => {
    const folder = mkdtempSync(join(tmpdir(), 'commonplace-model-'));
    const write = (facts: object) => writeFileSync(join(folder, 'model.json'), JSON.stringify(facts));
    expect(() => readModel(folder)).toThrow(/model\.json/);
    write({ id: 'a', name: 'A', dimensions: 3 });
    expect(() => readModel(folder)).toThrow(/maxTokens/);
    write({ id: 'a', name: 'A', dimensions: 3, maxTokens: 8, pooling: 'max' });
    expect(() => readModel(folder)).toThrow(/pooling/);
    write({ id: 'a', name: 'A', dimensions: 3, maxTokens: 8, pooling: 'cls', queryPrefix: 'q: ' });
    expect(readModel(folder).prefixes).toEqual({ query: 'q: ', document: '' });
    rmSync(folder, { recursive: true });
  });
});
