import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { draftOf, EVENT_TYPES, SOURCES } from '@commonplace/platform/public-events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EventLog } from '../src/events/log.js';
import { createPositions } from '../src/events/positions.js';
import {
  contentThrottleCollection,
  logHeadCollection,
  readTenantCollection,
  streamEventCollection,
} from '../src/events/records.js';
import { fieldOf } from '../src/events/wire.js';
import { eventOf, openTestStage, type TestStage } from './stage.js';

let stage: TestStage;

beforeAll(async () => {
  stage = await openTestStage();
}, 60_000);

afterAll(() => stage.close());

/** Returns a log as one of several processes has it, with a clock that can be moved. */
async function openLog(ahead = { ms: 0 }) {
  const { store, bus } = stage.stage.own;
  const parts = {
    ...{ store, bus, settings: { eventKeepSeconds: 3_600 }, now: () => Date.now() + ahead.ms },
    streamEvents: await store.collection(streamEventCollection),
    logHeads: await store.collection(logHeadCollection),
    readTenants: await store.collection(readTenantCollection),
    contentThrottles: await store.collection(contentThrottleCollection),
  };
  return { log: new EventLog(parts), ...parts };
}

function changed(tenant: string, type = 'resource.updated', more: object = {}): DomainEvent {
  const data = { resourceIds: [newId()], workspaceId: newId(), changedFields: [], version: 1, ...more };
  return eventOf(`resources.${type}`, data, { tenant });
}

test('each event has one position, however many processes append it however often', async () => {
  const processes = await Promise.all([openLog(), openLog(), openLog()]);
  const { log, streamEvents } = processes[0] as (typeof processes)[number];
  const tenants = [newId(), newId()];
  await log.keepFor(tenants);
  const events = Array.from({ length: 60 }, (_, i) => changed(tenants[i % 2] as string));
  await Promise.all(
    processes.flatMap((one, i) => [
      one.log.append(events.slice(i * 10, i * 10 + 40)),
      one.log.append(events),
      one.log.append(events.slice(30)),
    ]),
  );
  const found = await streamEvents.find({ where: { tenant: { in: tenants } }, sort: ['seq'], limit: 1_000 });
  expect(found.map(({ id }) => id).sort()).toEqual(events.map(({ id }) => id).sort());
  expect(new Set(found.map(({ seq }) => seq)).size).toBe(events.length);
  expect((await log.head()).seq).toBe(found.at(-1)?.seq);
});

test('a tenant without readers for longer than the resume window starts over', async () => {
  const ahead = { ms: 0 };
  const { log, streamEvents } = await openLog(ahead);
  const tenant = newId();
  const since = (await log.keepFor([tenant])).get(tenant) as number;
  const [kept, lost] = [changed(tenant), changed(tenant)];
  await log.append([kept]);
  expect(await streamEvents.get(kept.id)).toMatchObject({ seq: since + 1 });
  ahead.ms = 3_600_000 + 700_000;
  await log.append([lost]);
  expect(await streamEvents.get(lost.id)).toBeUndefined();
  expect((await log.keepFor([tenant])).get(tenant)).toBeGreaterThan(since + 1);
});

test('an event that arrives after the resume window makes readers start over', async () => {
  const { log, streamEvents } = await openLog();
  const tenant = newId();
  await log.keepFor([tenant]);
  const late = { ...changed(tenant), time: new Date(Date.now() - 2 * 3_600_000).toISOString() };
  await log.append([late]);
  await log.append([late]);
  const found = await streamEvents.find({ where: { tenant }, limit: 10 });
  expect(found.map(({ type }) => type)).toEqual(['reset']);
});

test('a pending change of contents is published by another process too, and once', async () => {
  const ahead = { ms: 0 };
  const processes = await Promise.all([openLog(ahead), openLog(ahead)]);
  const { log, streamEvents } = processes[0] as (typeof processes)[number];
  const tenant = newId();
  await log.keepFor([tenant]);
  const resourceIds = [newId()];
  const edits = [1, 2, 3].map((version) => changed(tenant, 'content.updated', { resourceIds, version }));
  await log.append(edits);
  // The bus delivers again what a process that died has not acknowledged.
  await log.append(edits);
  ahead.ms = 10_001;
  await Promise.all(processes.map((one) => one.log.appendDue()));
  await log.append(edits);
  ahead.ms = 30_000;
  await Promise.all(processes.map((one) => one.log.appendDue()));
  const found = await streamEvents.find({ where: { tenant }, sort: ['seq'], limit: 10 });
  expect(found.map(({ data }) => data.version)).toEqual([1, 3]);
});

test('positions can only be read with their own key', () => {
  const [one, other] = [createPositions(Buffer.alloc(32, 1)), createPositions(Buffer.alloc(32, 2))];
  const at = Date.now();
  const texts = [0, 1, 2 ** 40].map((seq) => one.write({ seq, at }));
  expect(texts.map((text) => one.read(text)?.seq)).toEqual([0, 1, 2 ** 40]);
  expect(texts.map((text) => one.read(text)?.at)).toEqual([at, at, at]);
  for (const text of [...texts.map((own) => `${own}=`), ...texts.map((own) => own.slice(1)), '', '1']) {
    expect(one.read(text)).toBeUndefined();
  }
  expect(one.write({ seq: 1, at })).toBe(texts[1]);
  expect(texts.map((text) => other.read(text))).toEqual([undefined, undefined, undefined]);
});

test('every type of event on the bus maps to one that clients know, without private fields', () => {
  const ids = { resourceIds: [newId()], resourceId: newId(), workspaceId: newId(), userId: newId(), orgId: newId() };
  const secret = { message: 'private words', values: { f: 'private words' }, participants: ['private words'] };
  for (const type of Object.keys(SOURCES)) {
    const data = { ...ids, requesterId: newId(), joined: true, ...secret };
    const draft = draftOf(eventOf(type.replace('commonplace.', ''), data, { tenant: ids.orgId }));
    expect(EVENT_TYPES).toContain(draft?.type);
    expect(JSON.stringify(draft)).not.toContain('private words');
    expect(JSON.stringify(draft?.data)).not.toMatch(/notify|mentions|token/);
  }
  expect(fieldOf('access_request.created')).toBe('accessRequestCreated');
});
