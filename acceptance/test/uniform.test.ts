import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { methodOf, type Row, rows } from '../src/matrix.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';
import { createWorld, type World } from '../src/world.js';

let system: System;
let world: World;

beforeAll(async () => {
  system = await standingSystem();
  world = await createWorld(system);
}, 120_000);

const named = (wanted: (row: Row) => boolean) =>
  rows
    .filter(({ code }) => code === undefined)
    .filter(wanted)
    .map((row) => [row.about === undefined ? row.endpoint : `${row.endpoint}, ${row.about}`, row] as const);

const isRead = (row: Row) => methodOf(row) === 'GET';
const isSearch = (row: Row) => row.endpoint.endsWith('/search');
/** A batch gives its key to its writes, which are replayed one by one (`batch.test.ts`). */
const isBatch = (row: Row) => row.endpoint.endsWith('/batch');
/** Records that have no version. */
const unversioned = (row: Row) => /api-keys|notifications|trash$|\{agent_id\}\/memories$/.test(row.endpoint);

/** Returns the expected replay of a response: secrets are shown once. */
function replayOf({ key: _key, invite_url: _url, form, ...kept }: Record<string, unknown>): unknown {
  if (typeof form !== 'object' || form === null) return form === undefined ? kept : { ...kept, form };
  const hidden = { token: null, submit_url: null, public_url: null, webhook_token: null, webhook_url: null };
  return { ...kept, form: { ...form, ...hidden } };
}

describe('every write that is repeated with its Idempotency-Key', () => {
  test.each(named((row) => !isRead(row) && !isSearch(row) && !isBatch(row)))('%s', async (_, row) => {
    const { path, body } = await row.request(world.closed, world.boss);
    const send = (sent: unknown) =>
      world.boss.send<Record<string, unknown>>(methodOf(row), path, sent, { headers: { 'Idempotency-Key': key } });
    const key = randomUUID();
    const first = await send(body);
    const again = await send(body);
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([row.success, null]);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([row.success, 'true']);
    expect(again.headers.get('original-request-id')).toBe(first.body.request_id);
    expect(again.data).toEqual(replayOf(first.data));
    const other = await send({ ...body, base_version: 1, name: 'Other', description: 'Other' });
    expect([400, 409]).toContain(other.status);
    if (other.status === 409) expect(other.error.code).toBe('idempotency_key_reused');
  });
});

describe('every change of a record with another version', () => {
  const changes = named((row) => ['PATCH', 'DELETE'].includes(methodOf(row)) && !unversioned(row));

  test.each(changes)('%s', async (_, row) => {
    const { path, body } = await row.request(world.closed, world.boss);
    const headers = { 'If-Match': '"v987654"' };
    const { status, error } = await world.boss.send(methodOf(row), path, body, { headers });
    expect([status, error.code]).toEqual([409, 'version_conflict']);
    expect(error.details).toMatchObject({ current_version: expect.any(Number) });
    const anyVersion = await world.boss.send(methodOf(row), path, body, { headers: { 'If-Match': '*' } });
    expect(anyVersion.status).toBe(row.success);
  });
});

describe('every read', () => {
  test.each(named(isRead))('%s: HEAD, ETag and 304', async (_, row) => {
    const { path } = await row.request(world.closed, world.boss);
    const get = await world.boss.get(path);
    const head = await world.boss.send('HEAD', path);
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
      200,
      '',
      get.headers.get('content-length'),
    ]);
    const etag = get.headers.get('etag');
    const isVersioned = typeof (get.data as { version?: unknown }).version === 'number';
    if (isVersioned) expect(etag).toMatch(/^"v\d+\.[\w-]+"$/);
    if (etag === null) return;
    const same = await world.boss.get(path, { headers: { 'If-None-Match': etag } });
    expect([same.status, same.text]).toEqual([304, '']);
    const other = await world.boss.get(path, { headers: { 'If-None-Match': '"v1.other"' } });
    expect(other.status).toBe(200);
  });
});
