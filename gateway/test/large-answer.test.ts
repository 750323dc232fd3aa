import { buffer } from 'node:stream/consumers';
import { etagOf } from '@commonplace/kit/http';
import { countTurns } from '@commonplace/kit/testing';
import { Content } from '@commonplace/proto/resources/v1/content_service.js';
import { Usage } from '@commonplace/proto/tenancy/v1/credit_service.js';
import { expect, test } from '@jest/globals';
import { encodeLarge, isLarge, streamOf } from '../src/response/large-answer.js';
import { createRoutes, type Route } from '../src/routes.js';
import { ID } from './request-helpers.js';

const route = createRoutes().find(({ rpc }) => rpc === 'GetContent') as Route;

/** Writes an answer with this content. Returns its parts. */
const write = (content: string) => {
  const json = Buffer.from(JSON.stringify(content));
  return route.writeResponse(Content.fromPartial({ resourceId: ID, version: 1, content: json })).data;
};

/** Returns a text without repetitions, so that pieces in the wrong order or of the wrong length are seen. */
const words = (chars: number) => Array.from({ length: chars / 8 }, (_, i) => `ä€😀${i}`).join('"\u0000');

test('a small answer is one text', () => {
  const data = write(words(1000));
  expect(isLarge(data)).toBe(false);
  expect(JSON.parse(data.join('')).content).toBe(words(1000));
});

test('a large value of an answer stays bytes, and is sent as it would be in a text', async () => {
  const content = words(2_000_000);
  const data = write(content);
  expect(data.map((part) => typeof part)).toEqual(['string', 'object', 'string']);
  expect(isLarge(data)).toBe(true);
  const written = data.join('');
  expect(JSON.parse(written).content).toBe(content);
  const encoded = await encodeLarge(data);
  const { body, bytes } = streamOf('{"data":', encoded, '}');
  const sent = await buffer(body);
  expect(sent.toString()).toBe(`{"data":${written}}`);
  expect(bytes).toBe(sent.length);
  expect(encoded.etag(1)).toBe(etagOf(1, written));
});

test('a large answer of many small values is encoded in pieces', async () => {
  const written = JSON.stringify(words(500_000));
  expect(isLarge([written])).toBe(true);
  const encoded = await encodeLarge([written]);
  expect(encoded.pieces.length).toBeGreaterThan(3);
  expect(Buffer.concat(encoded.pieces).toString()).toBe(written);
});

test('long texts of an answer become JSON in pieces, and are sent as they would be in a text', async () => {
  const list = createRoutes().find(({ rpc }) => rpc === 'ListRuns') as Route;
  const texts = [words(40_000), words(2_000_000), `\ud800${words(300_000)}`, 'short'];
  const items = texts.map((text) => ({ id: ID, output: { text } }));
  const { data } = list.writeResponse({ items, page: undefined });
  expect(data.map((part) => (typeof part === 'string' ? 'text' : part.constructor.name))).toEqual([
    ...['text', 'LargeText', 'text', 'LargeText', 'text'],
  ]);
  const written = data.join('');
  expect(JSON.parse(written).items.map(({ output }: { output: { text: string } }) => output.text)).toEqual(texts);
  const encoded = await encodeLarge(data);
  expect(Buffer.concat(encoded.pieces).toString()).toBe(written);
  expect(Math.max(...encoded.pieces.map(({ length }) => length))).toBeLessThan(1_000_000);
  expect(encoded.etag(1)).toBe(etagOf(1, written));
});

test('values that are large together stay bytes, too, except for small ones', () => {
  const batch = createRoutes().find(({ rpc }) => rpc === 'SendBatch') as Route;
  const bodies = [60_000, 30_000, 100, 10_000].map((chars) => Buffer.from(JSON.stringify('é'.repeat(chars / 2))));
  const responses = bodies.map((body, i) => ({ id: `${i}`, status: 200, headers: {}, body }));
  const { data } = batch.writeResponse({ responses });
  expect(data.map((part) => typeof part)).toEqual(['string', 'object', 'string', 'object', 'string']);
  const written = JSON.parse(data.join('')) as { responses: { body: string }[] };
  expect(written.responses.map(({ body }) => body)).toEqual(bodies.map((body) => JSON.parse(body.toString())));
});

test('a long list is written in pieces, as are the lists in it, and sent as it would be at once', async () => {
  const usage = createRoutes().find(({ rpc }) => rpc === 'GetUsage') as Route;
  const counts = { credits: '0.5', requests: 3 };
  const groups = (count: number) => Array.from({ length: count }, (_, i) => ({ key: `member ${i}`, ...counts }));
  const series = [5000, 0, 100, 100, 20_000, 1].map((count, i) => {
    return { start: `2026-11-0${i + 1}T00:00:00.000Z`, ...counts, groups: groups(count) };
  });
  const answer = Usage.fromPartial({ totals: counts, series, groups: groups(3000) });
  const { data } = usage.writeResponse(answer);
  expect(String(data[0]).length).toBeLessThan(200_000);
  const turns = await countTurns(async () => {
    const { pieces, etag } = await encodeLarge(data);
    const written = Buffer.concat(pieces).toString();
    expect(JSON.parse(written)).toMatchObject({ series, groups: groups(3000) });
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(200_000);
    expect(data.join('')).toBe(written);
    expect(etag(1)).toBe(etagOf(1, written));
  });
  expect(turns).toBeGreaterThan(3);
});
