import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventsOf } from '@commonplace/acceptance/dist/src/events.js';
import { startScript } from '@commonplace/acceptance/dist/src/process.js';
import { freePort, inherited, ROOT } from '@commonplace/acceptance/dist/src/system.js';
import type { Script } from '@commonplace/kit/testing/chat-server';
import type { Bench, Measured } from '../bench.js';
import { createWorkspace } from '../fill.js';
import { median } from '../measure.js';
import { percentile } from '../quality/measures.js';
import type { Row } from '../row.js';

/** Number of concurrent streams. Below, number of replies in each of them. */
const STREAMS = 50;
const REPLIES = 2;
/**
 * Number of tokens of a reply. Below, milliseconds between two tokens, which is as fast as the models that people use.
 */
const TOKENS = 100;
const TOKEN_MS = 40;
/** Number of clients, each of which starts one short run after another. */
const CLIENTS = 16;
/** Number of runs whose steps are timed. Each has the maximum number of steps. */
const LONG_RUNS = 3;
const STEPS = 50;
const TURNS = STEPS / 2 - 1;

const call = { toolCalls: [{ name: 'search', arguments: { query: 'subject' } }] };
/** Behaviour of the model for a stream, a short reply, or many steps. */
const SCRIPTS: readonly Script[] = [
  {
    match: 'bench-stream',
    by: 'turn',
    replies: [{ text: 'word '.repeat(TOKENS), firstDelayMs: 20, delayMs: TOKEN_MS }],
  },
  { match: 'bench-short', by: 'turn', replies: [{ text: 'It is so.' }] },
  { match: 'bench-steps', by: 'turn', replies: [...Array.from({ length: TURNS }, () => call), { text: 'Done.' }] },
];

/** A target for questions: the system, or the model itself. */
interface Asked {
  readonly name: string;
  /** Asks a question. Returns the milliseconds to the first piece of the text, and to its end. */
  ask(question: string): Promise<{ readonly first: number; readonly whole: number }>;
}

/**
 * Measures the overhead of runs compared with their model: time to the first token, time of each step, and runs per
 * second.
 */
export async function measureRuns(bench: Bench): Promise<Row> {
  const model = await startModel();
  const settings = {
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: 'scripted',
    COMMONPLACE_RUN_WORKERS: '100',
    COMMONPLACE_RUNS_RUNNING: '100',
    COMMONPLACE_RUNS_PER_AGENT: '100',
  };
  const measured = await bench.start('runs', { settings });
  try {
    const workspaceId = await createWorkspace(measured.client, 'Runs');
    const system = throughSystem(measured, workspaceId);
    const direct = throughModel(model.url);
    // Runs per second are measured twice, because the code of new processes is slow until it is compiled.
    await repliesPerSecond(system, bench);
    const [rateDirect, rate] = [await repliesPerSecond(direct, bench), await repliesPerSecond(system, bench)];
    bench.say('runs per second measured');
    const [firstDirect, first] = [await firstTokens(direct), await firstTokens(system)];
    bench.say('first tokens measured');
    const steps = await stepTimes(measured, workspaceId);
    const callMs = median(await inTurn(20, async () => (await direct.ask('bench-short')).whole));
    const added = { p50: first.p50 - firstDirect.p50, p99: first.p99 - firstDirect.p99 };
    return {
      figures: [],
      notes: [
        `first token of ${STREAMS} streams: p50 ${ms(first.p50)}, p99 ${ms(first.p99)}; the model alone ${ms(firstDirect.p50)}, ${ms(firstDirect.p99)}`,
        `a step: ${ms(steps.early)} at the first, ${ms(steps.late)} at step ${STEPS}; a call of the model alone ${ms(callMs)}`,
        `${rate.toFixed(1)} short runs/s of ${CLIENTS} clients; the model alone ${rateDirect.toFixed(1)} replies/s`,
      ],
      checks: [
        {
          what: 'added to the first token, p50',
          value: added.p50 / 1000,
          unit: 's',
          right: 'at most',
          floor: 0.5,
          aim: 0.1,
        },
        {
          what: 'added to the first token, p99',
          value: added.p99 / 1000,
          unit: 's',
          right: 'at most',
          floor: 1,
          aim: 0.25,
        },
        { what: `step ${STEPS} beside step 1`, value: steps.late / steps.early, unit: '×', right: 'at most', floor: 2 },
        { what: 'runs', value: rate, unit: '/s', right: 'at least', floor: 20, aim: 100 },
        {
          what: 'runs beside replies of the model alone',
          value: rate / rateDirect,
          unit: '×',
          right: 'at least',
          floor: 0.02,
        },
      ],
    };
  } finally {
    await measured.subject.stop();
    await model.stop();
  }
}

const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

/** Starts the scripted chat server in a separate process. */
async function startModel() {
  const home = mkdtempSync(join(tmpdir(), 'commonplace-model-'));
  const scripts = join(home, 'scripts.json');
  writeFileSync(scripts, JSON.stringify(SCRIPTS));
  const port = await freePort();
  const main = join(ROOT, 'kit/dist/src/testing/chat-server/main.js');
  const running = startScript(main, inherited(), [], ['--port', String(port), '--scripts', scripts]);
  await running.says('COMMONPLACE_CHAT_MODEL_URL', 10_000);
  const stop = async () => {
    await running.kill();
    rmSync(home, { recursive: true, force: true });
  };
  return { url: `http://127.0.0.1:${port}/v1`, stop };
}

function throughSystem({ system }: Measured, workspaceId: string): Asked {
  const headers = {
    authorization: `Bearer ${system.apiKey}`,
    accept: 'text/event-stream',
    'content-type': 'application/json',
  };
  return {
    name: 'run',
    async ask(question) {
      const started = performance.now();
      const body = JSON.stringify({ input: question, workspace_id: workspaceId });
      const response = await fetch(`${system.baseUrl}/api/v1/agent-runs`, { method: 'POST', headers, body });
      if (!response.ok) throw new Error(`POST /agent-runs answers ${response.status}: ${await response.text()}`);
      const events = eventsOf(response);
      let first: number | undefined;
      for (let event = await events.next(); event !== undefined; event = await events.next()) {
        if (event.event === 'message.delta' || event.event === 'message.snapshot')
          first ??= performance.now() - started;
        if (event.event === 'run.failed') throw new Error(`A run failed: ${JSON.stringify(event.data).slice(0, 300)}`);
      }
      const whole = performance.now() - started;
      return { first: first ?? whole, whole };
    },
  };
}

function throughModel(url: string): Asked {
  return {
    name: 'model',
    async ask(question) {
      const started = performance.now();
      const body = JSON.stringify({ model: 'scripted', stream: true, messages: [{ role: 'user', content: question }] });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body });
      let [text, first] = ['', undefined as number | undefined];
      for await (const piece of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
        text = (text + piece).slice(-10_000);
        if (/"content":"[^"]/.test(text)) first ??= performance.now() - started;
      }
      const whole = performance.now() - started;
      return { first: first ?? whole, whole };
    },
  };
}

/** Returns percentiles of the milliseconds to the first token while all streams are open. */
async function firstTokens({ ask }: Asked) {
  const all = await Promise.all(
    Array.from({ length: STREAMS }, async (_, i) => {
      // Their starts are spread over the length of a reply, like those of real users.
      await new Promise((resolve) => setTimeout(resolve, (i / STREAMS) * TOKENS * TOKEN_MS));
      return inTurn(REPLIES, async () => (await ask('bench-stream')).first);
    }),
  );
  return { p50: percentile(all.flat(), 0.5), p99: percentile(all.flat(), 0.99) };
}

async function repliesPerSecond({ ask }: Asked, { pace }: Bench): Promise<number> {
  const until = performance.now() + pace.seconds * 2_000;
  const started = performance.now();
  let count = 0;
  const client = async () => {
    while (performance.now() < until) {
      await ask('bench-short');
      count++;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return (count * 1000) / (performance.now() - started);
}

interface TimedRun {
  readonly id: string;
  readonly status: string;
  readonly steps: readonly { readonly seq: number; readonly started_at: string }[];
}

/**
 * Returns the milliseconds of a step at the beginning and at the end of long runs. It is half of a turn's time, because
 * a turn has two steps.
 */
async function stepTimes({ client }: Measured, workspaceId: string) {
  const runs = await inTurn(LONG_RUNS, async () => {
    const body = { input: 'bench-steps', workspace_id: workspaceId };
    const { id } = await client.ask<TimedRun>('POST', '/agent-runs', body);
    for (;;) {
      const run = await client.ask<TimedRun>('GET', `/agent-runs/${id}?include=steps&wait_seconds=10`);
      if (run.status === 'failed') throw new Error('A long run failed.');
      if (run.status === 'completed') return run;
    }
  });
  const times = (from: number, to: number) =>
    runs.map(({ steps }) => {
      const at = (seq: number) => Date.parse(steps.find((step) => step.seq === seq)?.started_at ?? '');
      return (at(to) - at(from)) / (to - from);
    });
  return { early: median(times(2, 6)), late: median(times(STEPS - 6, STEPS - 2)) };
}

async function inTurn<T>(count: number, act: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let i = 0; i < count; i++) results.push(await act());
  return results;
}
