import { setTimeout as sleep } from 'node:timers/promises';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Bench } from '../bench.js';
import { compareBeside } from '../beside.js';
import { createWorkspace, type Made } from '../fill.js';
import { JSON_BODY, openClient } from '../http.js';
import type { Subject } from '../measure.js';
import { residentMiB } from '../processes.js';
import { percentile } from '../quality/measures.js';
import { type Check, type Row, ratioOf } from '../row.js';
import { Arrivals, addReaders } from '../streams.js';
import { startBareFanOut, startBareKoa } from '../subjects/limit.js';

/** Number of concurrent streams. Below, number of members who read them, each on several devices. */
const STREAMS = 1_000;
const PEOPLE = 100;
/** Number of messages that every stream has to deliver, one after another. */
const MESSAGES = 20;
const REST_MS = 10_000;
const OPEN_AT_ONCE = 20;
const TEXT = 'The delivery came a day late, but all of it was there and in good shape. Thank you.';

/** A system with a group in which each member has several open streams, or an equivalent of one. */
interface FanOut {
  /** Memory in MiB that the streams took. */
  readonly memory: number;
  /** Sends a message. Returns the milliseconds until each stream had delivered it. */
  send(text: string): Promise<number[]>;
  close(): void;
}

/**
 * Measures messages to one conversation: how many per second compared with bare Koa and with a server that only writes
 * to streams, how long each takes to reach all of a thousand streams, and the memory of idle streams.
 */
export async function measureMessages(bench: Bench): Promise<Row> {
  const settings = { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_RATE_LIMITS: 'off', COMMONPLACE_GROUP_MEMBERS: '1000' };
  const measured = await bench.start('messages', { settings });
  const limit = await startBareFanOut();
  const opened: FanOut[] = [];
  try {
    const { client, subject } = measured;
    const workspaceId = await createWorkspace(client, 'Messages');
    const people = await addReaders(measured, workspaceId, PEOPLE);
    bench.say(`${PEOPLE} people signed up`);
    const body = {
      type: 'group',
      name: 'All',
      workspace_id: workspaceId,
      member_ids: people.map(({ user }) => user.id),
    };
    const { id } = await client.ask<Made>('POST', '/im/conversations', body);
    const path = `/im/conversations/${id}/messages`;
    const sent = await client.send('POST', path, { text: TEXT });
    const text = JSON.stringify({ text: TEXT });
    const request = { method: 'POST', path: `/api/v1${path}`, body: text, headers: JSON_BODY } as const;
    const bare = { method: 'POST', path: '/api/v1/im/conversations/:id/messages', answers: [sent.text] } as const;
    const figures = await compareBeside(bench, [{ subject, requests: [request] }], () =>
      startBareKoa({ ...bare, status: sent.status }),
    );
    const url = `${subject.url}/api/v1/events?workspace_id=${workspaceId}&conversation_id=${id}&types=message.created`;
    const cookies = people.map(({ session }) => session.cookie);
    const ours = await openFanOut(measured.subject, url, cookies, (text) => client.ask('POST', path, { text }));
    opened.push(ours);
    const theirs = await openBare(limit);
    opened.push(theirs);
    bench.say(`${2 * STREAMS} streams open`);
    const times = await sendInTurns(ours, theirs);
    return {
      figures,
      checks: [ratioOf(figures, 0.05), ...checksOf(ours, theirs, times)],
      notes: notesOf(ours, theirs, times),
    };
  } finally {
    for (const one of opened) one.close();
    await limit.stop();
    await measured.subject.stop();
  }
}

/** Opens all streams and distributes them among their readers. */
async function openFanOut(
  { pids }: Pick<Subject, 'pids'>,
  url: string,
  cookies: readonly string[],
  post: (text: string) => Promise<unknown>,
): Promise<FanOut> {
  const over = new AbortController();
  const arrivals = new Arrivals(({ text }) => text as string | undefined);
  await sleep(REST_MS);
  const resident = () => pids().reduce((sum, pid) => sum + residentMiB(pid), 0);
  const before = resident();
  const all = Array.from({ length: STREAMS }, (_, i) => cookies[i % cookies.length] ?? '');
  await forEach(all, OPEN_AT_ONCE, (cookie) => arrivals.follow(url, { cookie }, over.signal));
  await sleep(REST_MS);
  return {
    memory: resident() - before,
    async send(text) {
      const started = performance.now();
      await post(text);
      return (await arrivals.of(text, STREAMS)).map((at) => at - started);
    },
    close: () => over.abort(),
  };
}

async function openBare(limit: Subject): Promise<FanOut> {
  const client = openClient(limit.url, '', 1);
  const fanOut = await openFanOut(limit, limit.url, [''], (text) => client.ask('POST', '/messages', { text }));
  const close = () => {
    fanOut.close();
    client.close();
  };
  return { ...fanOut, close };
}

/** Sends one message to each system in turn, so that other work on the machine affects both equally. */
async function sendInTurns(ours: FanOut, theirs: FanOut) {
  const times = { ours: [] as number[], theirs: [] as number[] };
  for (let i = 0; i < MESSAGES; i++) {
    times.ours.push(...(await ours.send(`Told ${i}: ${TEXT}`)));
    times.theirs.push(...(await theirs.send(`Told ${i}: ${TEXT}`)));
  }
  return times;
}

type Times = Awaited<ReturnType<typeof sendInTurns>>;

function checksOf(ours: FanOut, theirs: FanOut, times: Times): Check[] {
  const least = { unit: '×', right: 'at most' } as const;
  const ratio = (share: number) => percentile(times.ours, share) / percentile(times.theirs, share);
  return [
    { what: 'from a post to a reader beside a bare fan-out, p50', value: ratio(0.5), ...least, floor: 10 },
    { what: 'from a post to a reader beside a bare fan-out, p99', value: ratio(0.99), ...least, floor: 10 },
    {
      what: `memory for ${STREAMS} idle streams`,
      value: ours.memory,
      unit: 'MB',
      right: 'at most',
      floor: 200,
      aim: 50,
    },
    { what: 'the same beside a bare fan-out', value: ours.memory / Math.max(theirs.memory, 1), ...least, floor: 10 },
  ];
}

function notesOf(ours: FanOut, theirs: FanOut, { ours: mine, theirs: bare }: Times): string[] {
  const ms = (times: readonly number[]) =>
    `p50 ${Math.round(percentile(times, 0.5))} ms, p99 ${Math.round(percentile(times, 0.99))} ms`;
  return [
    `from a post to each of ${STREAMS} streams of ${PEOPLE} people: ${ms(mine)}; bare fan-out ${ms(bare)}`,
    `${STREAMS} idle streams: ${ours.memory.toFixed(0)} MB; bare fan-out ${theirs.memory.toFixed(0)} MB`,
  ];
}
