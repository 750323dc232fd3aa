import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.js';
import { createResource, createWorkspace, type Made } from '../fill.js';
import type { Client } from '../http.js';
import { cpuSeconds } from '../processes.js';
import { percentile } from '../quality/measures.js';
import type { Row } from '../row.js';

/** Number of clients, each of which requests one run after another. */
const CLIENTS = 16;
/** Number of events, each of which starts a run, and milliseconds between two of them. */
const EVENTS = 200;
const EVENT_GAP_MS = 25;
const POLL_INTERVAL_MS = 50;
const PAGE = 100;

interface Run {
  readonly status: string;
  readonly input: { readonly event?: { readonly timestamp: string } } | null;
  readonly started_at: string;
  readonly finished_at: string;
}

/**
 * Measures automations: durable runs of one built-in action per second, and the time from an event to the run that it
 * starts.
 */
export async function measureAutomations(bench: Bench): Promise<Row> {
  const settings = {
    COMMONPLACE_RATE_LIMITS: 'off',
    COMMONPLACE_AUTOMATION_QUEUE: '100000',
    COMMONPLACE_AUTOMATION_WORKERS: '64',
  };
  const measured = await bench.start('automations', { settings });
  try {
    const { client, subject } = measured;
    const cpu = () => cpuSeconds(subject.pids());
    const workspaceId = await createWorkspace(client, 'Automations');
    // A warm-up comes first, because the code of a new process is slow at first.
    await runsPerSecond(client, workspaceId, bench.pace.seconds, cpu);
    const { rate, cpuMs } = await runsPerSecond(client, workspaceId, bench.pace.seconds * 2, cpu);
    bench.say('runs per second measured');
    const lag = await eventsToRuns(client, workspaceId);
    return {
      figures: [],
      notes: [
        `${rate.toFixed(0)} runs of one built-in action/s of ${CLIENTS} clients, from the request to the stored end`,
        `${cpuMs.toFixed(1)} ms of processor time a run, so that two processors alone for it do ${Math.round(2000 / cpuMs)} a second at the most`,
        `from an event to the start of its run: p50 ${ms(lag.p50)}, p99 ${ms(lag.p99)}`,
      ],
      checks: [
        { what: 'runs of one action', value: rate, unit: '/s', right: 'at least', floor: 30, aim: 220 },
        {
          what: 'from an event to its run, p50',
          value: lag.p50 / 1000,
          unit: 's',
          right: 'at most',
          floor: 1,
          aim: 0.1,
        },
        {
          what: 'from an event to its run, p99',
          value: lag.p99 / 1000,
          unit: 's',
          right: 'at most',
          floor: 3,
          aim: 0.5,
        },
      ],
    };
  } finally {
    await measured.subject.stop();
  }
}

const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

async function createAutomation(client: Client, workspaceId: string, trigger: object, action: object): Promise<string> {
  const body = { name: 'Bench', workspace_id: workspaceId, trigger, actions: [action], concurrency: 'allow' };
  return (await client.ask<Made>('POST', '/automations', body)).id;
}

/**
 * Starts runs for a number of seconds and waits for the last one. Returns the number of runs that ended per second, and
 * the milliseconds of processor time of each.
 */
async function runsPerSecond(client: Client, workspaceId: string, seconds: number, cpu: () => number) {
  const action = { type: 'create_work_item', config: { title: 'Task' } };
  const id = await createAutomation(client, workspaceId, { type: 'manual' }, action);
  const [started, before] = [performance.now(), cpu()];
  const until = started + seconds * 1000;
  let asked = 0;
  const one = async () => {
    while (performance.now() < until) {
      await client.ask<Made>('POST', `/automations/${id}/run`, {});
      asked++;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, one));
  for (const status of ['queued', 'running']) {
    while ((await list(client, `/automations/${id}/runs?status=${status}&limit=1`)).length > 0)
      await sleep(POLL_INTERVAL_MS);
  }
  const [elapsed, cpuTime] = [performance.now() - started, cpu() - before];
  const failed = await list(client, `/automations/${id}/runs?status=failed&limit=1`);
  if (failed.length > 0) throw new Error(`A run failed: ${JSON.stringify(failed[0]).slice(0, 500)}`);
  return { rate: (asked * 1000) / elapsed, cpuMs: (cpuTime * 1000) / asked };
}

async function list(client: Client, path: string): Promise<readonly Run[]> {
  return (await client.ask<{ items: readonly Run[] }>('GET', path)).items;
}

/** Returns percentiles of the milliseconds from an event to the start of its run. */
async function eventsToRuns(client: Client, workspaceId: string) {
  const trigger = { type: 'event', config: { types: ['resource.created'], resource_type: 'folder' } };
  const id = await createAutomation(client, workspaceId, trigger, { type: 'stop', config: {} });
  for (let event = 0; event < EVENTS; event++) {
    await createResource(client, { type: 'folder', name: `Event ${event}`, workspace_id: workspaceId });
    await sleep(EVENT_GAP_MS);
  }
  const runs: Run[] = [];
  while (runs.length < EVENTS) {
    await sleep(POLL_INTERVAL_MS);
    runs.length = 0;
    for (let offset = 0; ; offset += PAGE) {
      const page = await list(client, `/automations/${id}/runs?status=completed&limit=${PAGE}&offset=${offset}`);
      runs.push(...page);
      if (page.length < PAGE) break;
    }
  }
  const times = runs.map(({ input, started_at }) => Date.parse(started_at) - Date.parse(input?.event?.timestamp ?? ''));
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}
