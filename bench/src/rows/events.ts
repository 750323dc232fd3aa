import { setTimeout as sleep } from 'node:timers/promises';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Bench } from '../bench.js';
import { createFolders, createResource, createWorkspace } from '../fill.js';
import { cpuSeconds, residentMiB } from '../processes.js';
import { percentile } from '../quality/measures.js';
import type { Row } from '../row.js';
import { Arrivals, addReaders } from '../streams.js';

/** Number of concurrent streams. Below, number of people who read them, each on several devices. */
const STREAMS = 1_000;
const PEOPLE = 100;
/** Number of changes that every stream has to deliver, one after another. */
const CHANGES = 20;
const REST_MS = 10_000;
const OPEN_AT_ONCE = 20;

/** Measures streams of events: memory of idle streams, and time from a change to each of a thousand readers. */
export async function measureEvents(bench: Bench): Promise<Row> {
  const settings = { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_RATE_LIMITS: 'off' };
  const measured = await bench.start('events', { settings });
  const over = new AbortController();
  try {
    const { client, system } = measured;
    const workspaceId = await createWorkspace(client, 'Events');
    const people = await addReaders(measured, workspaceId, PEOPLE);
    bench.say(`${PEOPLE} people signed up`);
    // A warm-up comes first, because the code of a new process is slow at first.
    await createFolders(client, workspaceId, 200);
    await sleep(REST_MS);
    const before = residentMiB(system.pid);
    const arrivals = new Arrivals(({ resource_ids: ids }) => (ids as readonly string[] | undefined)?.[0]);
    const url = `${system.baseUrl}/api/v1/events?workspace_id=${workspaceId}&types=resource.created`;
    await forEach(
      Array.from({ length: STREAMS }, (_, i) => people[i % PEOPLE]?.session.cookie ?? ''),
      OPEN_AT_ONCE,
      (cookie) => arrivals.follow(url, { cookie }, over.signal),
    );
    bench.say(`${STREAMS} streams open`);
    const cpuBefore = cpuSeconds([system.pid]);
    await sleep(REST_MS);
    const idle = (cpuSeconds([system.pid]) - cpuBefore) / (REST_MS / 1000);
    const memory = residentMiB(system.pid) - before;
    const times: number[] = [];
    for (let change = 0; change < CHANGES; change++) {
      const started = performance.now();
      const id = await createResource(client, { type: 'folder', name: `Told ${change}`, workspace_id: workspaceId });
      times.push(...(await arrivals.of(id, STREAMS)).map((at) => at - started));
    }
    const at = (share: number) => percentile(times, share) / 1000;
    return {
      figures: [],
      notes: [
        `${STREAMS} streams of ${PEOPLE} people, idle: ${memory.toFixed(0)} MB more, ${(idle * 100).toFixed(0)} % of a core`,
        `from the request to each reader: p50 ${ms(at(0.5))}, p99 ${ms(at(0.99))}`,
      ],
      checks: [
        { what: `memory for ${STREAMS} streams`, value: memory, unit: 'MB', right: 'at most', floor: 200, aim: 50 },
        { what: 'from a change to a reader, p50', value: at(0.5), unit: 's', right: 'at most', floor: 1, aim: 0.25 },
        { what: 'from a change to a reader, p99', value: at(0.99), unit: 's', right: 'at most', floor: 2, aim: 0.5 },
      ],
    };
  } finally {
    over.abort();
    await measured.subject.stop();
  }
}

const ms = (seconds: number): string => `${Math.round(seconds * 1000)} ms`;
