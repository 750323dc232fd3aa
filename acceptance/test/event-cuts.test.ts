import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Agent, request } from 'undici';
import { type Api, api } from '../src/client.js';
import type { FeedEvent } from '../src/event-feed.js';
import { eventsOf } from '../src/events.js';
import { eventually } from '../src/eventually.js';
import type { Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

/** Tests that readers whose streams are cut while the system is killed receive each event once and in order. */

const READERS = 200;
const CUTS = 600;
const KILLS = 2;
const WRITTEN_PER_LIFE = 60;
const PATIENCE_MS = 60_000;

let system: OwnSystem;
let by: Api;
let workspaceId: string;
const agent = new Agent({ connections: READERS + 20, bodyTimeout: 0 });

beforeAll(async () => {
  system = await startSystem();
  by = api(system, system.owner.apiKey);
  workspaceId = (await by.post<Workspace>('/workspaces', { name: 'Cut' })).data.id;
}, 150_000);

afterAll(async () => {
  await agent.destroy();
  await system?.stop();
}, 60_000);

interface Reader {
  /** Names of the folders in the received events, in order. */
  readonly names: string[];
  readonly faults: string[];
  lastEventId: string | undefined;
}

let cutsLeft = CUTS;
const over = new AbortController();

/** Reads the stream until the test is over, and resumes after its last event after each cut. */
async function follow(reader: Reader): Promise<void> {
  while (!over.signal.aborted) {
    const cut = new AbortController();
    const timer =
      reader.lastEventId !== undefined && cutsLeft-- > 0 ? setTimeout(() => cut.abort(), pause()) : undefined;
    try {
      await readOnce(reader, AbortSignal.any([cut.signal, over.signal]));
    } catch {
      if (!cut.signal.aborted && !over.signal.aborted) await sleep(100);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Milliseconds before a cut. */
const pause = () => 5 + Math.floor(Math.random() * 400);

async function readOnce(reader: Reader, signal: AbortSignal): Promise<void> {
  const { statusCode, body } = await request(
    `${system.baseUrl}/api/v1/events?workspace_id=${workspaceId}&types=resource.created`,
    {
      dispatcher: agent,
      signal,
      headers: {
        authorization: `Bearer ${system.owner.apiKey}`,
        accept: 'text/event-stream',
        ...(reader.lastEventId !== undefined && { 'last-event-id': reader.lastEventId }),
      },
    },
  );
  if (statusCode !== 200) {
    await body.dump();
    throw new Error(`status ${statusCode}`);
  }
  const headers = { 'content-type': 'text/event-stream' };
  const events = eventsOf(new Response(body as unknown as ReadableStream, { headers }));
  for (let next = await events.next(); next !== undefined && !over.signal.aborted; next = await events.next()) {
    reader.lastEventId = next.id;
    if (next.event === 'resource.created') reader.names.push(...idsOf(next.data as unknown as FeedEvent));
    else if (next.event !== 'position') reader.faults.push(`${next.event} ${JSON.stringify(next.data)}`);
  }
}

const idsOf = ({ data }: FeedEvent) => data.resource_ids as string[];

test('each reader receives each event once, in the same order', async () => {
  const readers: Reader[] = Array.from({ length: READERS }, () => ({ names: [], faults: [], lastEventId: undefined }));
  const following = readers.map(follow);
  await eventually(() => expect(readers.filter((one) => one.lastEventId === undefined)).toEqual([]), PATIENCE_MS);
  const written: string[] = [];
  const write = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const body = { workspace_id: workspaceId, type: 'folder', name: 'Folder' };
      const made = await by.post<{ id: string }>('/resources', body).catch(() => undefined);
      if (made?.status === 201) written.push(made.data.id);
    }
  };
  for (let life = 0; life < KILLS; life++) {
    const writing = write(WRITTEN_PER_LIFE);
    await eventually(() => expect(written.length).toBeGreaterThan(life * 20 + 20), PATIENCE_MS);
    await system.kill();
    await writing;
    await system.restart();
  }
  await write(WRITTEN_PER_LIFE);
  const last = written.at(-1) as string;
  await eventually(() => expect(readers.filter(({ names }) => !names.includes(last))).toEqual([]), PATIENCE_MS);
  // A request that is sent to an agent while it is destroyed would wait for five minutes.
  over.abort();
  await Promise.all(following);
  const [first] = readers;
  const received = first?.names ?? [];
  expect(new Set(received).size).toBe(received.length);
  // A folder may have been made although the answer was lost.
  expect(received.filter((id) => written.includes(id))).toEqual(written);
  for (const { names, faults } of readers) expect([names, faults]).toEqual([received, []]);
  expect(CUTS - cutsLeft).toBeGreaterThan(READERS);
}, 400_000);
