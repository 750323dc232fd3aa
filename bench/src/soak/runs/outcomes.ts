import { setTimeout as sleep } from 'node:timers/promises';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Client } from '../../http.js';
import type { Asked, Scene } from './scene.js';

const WIDTH = 16;
const POLL_INTERVAL_MS = 200;
/** Milliseconds within which every run must end once the system is ready again. */
export const STUCK_MS = 30_000;

interface Step {
  readonly seq: number;
  readonly type: string;
  readonly name: string;
  readonly tool_call_id: string | null;
  readonly attempt: number;
  readonly status: string;
}

export interface Run {
  readonly id: string;
  readonly status: string;
  readonly attempt: number;
  readonly output: { readonly text: string } | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number; readonly credits: string };
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly steps?: readonly Step[];
  readonly created_at: string;
  readonly finished_at: string | null;
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'canceled', 'expired']);

/**
 * Waits until runs have ended, and returns them with their steps. Those that do not end in time are returned in their
 * current state.
 */
export async function untilEnded(
  client: Client,
  asked: readonly Asked[],
  timeoutMs = STUCK_MS,
): Promise<Map<string, Run>> {
  const until = performance.now() + timeoutMs;
  const runs = new Map<string, Run>();
  for (;;) {
    const open = asked.filter(({ runId = '' }) => !ENDED.has(runs.get(runId)?.status ?? ''));
    await forEach(open, WIDTH, async ({ runId = '' }) => {
      runs.set(runId, await client.ask<Run>('GET', `/agent-runs/${runId}?include=steps`));
    });
    const isOver = [...runs.values()].every(({ status }) => ENDED.has(status));
    if (isOver || performance.now() > until) return runs;
    await sleep(POLL_INTERVAL_MS);
  }
}

/** Returns the faults of requested runs, which must have ended by now. */
export async function outcomeFaults(
  { client }: Scene,
  asked: readonly Asked[],
  runs: ReadonlyMap<string, Run>,
): Promise<string[]> {
  const faults = await forEach(asked, WIDTH, async (one) => {
    const run = runs.get(one.runId ?? '');
    if (run === undefined) return [`${one.name} is lost`];
    const about = `${one.name} (${one.kind} ${run.id}, attempt ${run.attempt})`;
    return [
      ...statusFaults(one, run),
      ...stepFaults(one, run),
      ...(await eventFaults(client, run)),
      ...(await messageFaults(client, one, run)),
    ].map((fault) => `${about}: ${fault}`);
  });
  return faults.flat();
}

function statusFaults({ text, isCanceled }: Asked, { status, output, error }: Run): string[] {
  if (!ENDED.has(status)) return [`is still ${status} after ${STUCK_MS / 1000} s`];
  if (isCanceled && status === 'canceled') return [];
  if (status !== 'completed') return [`is ${status}: ${error?.code} ${error?.message}`];
  return output?.text === text ? [] : [`has another text: ${JSON.stringify(output?.text.slice(0, 80))}`];
}

/** Checks that each call of a tool has one step and one result, and that steps are numbered without gaps. */
function stepFaults({ name, plan }: Asked, { status, steps = [] }: Run): string[] {
  const faults: string[] = [];
  const ids = steps.flatMap(({ tool_call_id: id }) => id ?? []);
  if (new Set(ids).size !== ids.length) faults.push(`a call has several steps: ${ids.join()}`);
  if (steps.some(({ seq }, i) => seq !== i + 1)) faults.push(`steps ${steps.map(({ seq }) => seq).join()}`);
  if (status !== 'completed') return faults;
  const open = steps.filter((step) => step.status !== 'completed');
  if (open.length > 0) faults.push(`step ${open[0]?.seq} is ${open[0]?.status}`);
  const expected = Array.from({ length: plan.turns * plan.callsPerTurn }, (_, i) => {
    return `${name}-${Math.floor(i / plan.callsPerTurn)}-${i % plan.callsPerTurn}`;
  });
  if (ids.join() !== expected.join()) faults.push(`calls ${ids.join()}, not ${expected.join()}`);
  const messages = steps.filter(({ type }) => type === 'message').length;
  if (messages !== plan.turns + 1) faults.push(`${messages} turns, not ${plan.turns + 1}`);
  return faults;
}

/** Checks that a run has one event for its message, for the result of each step, and for its end. */
async function eventFaults(client: Client, { id, status, steps = [] }: Run): Promise<string[]> {
  const path = `/agent-runs/${id}/events?limit=200`;
  const { items } = await client.ask<{ items: { type: string; data: { step?: number } }[] }>('GET', path);
  const count = (type: string) => items.filter((event) => event.type === type).length;
  const faults = ['message.created', 'message.completed', `run.${status}`].flatMap((type) =>
    count(type) === 1 || !ENDED.has(status) ? [] : [`${count(type)} events ${type}`],
  );
  for (const step of steps.filter((one) => one.type === 'tool_call' && one.status === 'completed')) {
    const results = items.filter(({ type, data }) => type === 'tool.finished' && data.step === step.seq).length;
    if (results !== 1) faults.push(`the result of step ${step.seq} has ${results} events`);
  }
  return faults;
}

interface Session {
  readonly active_run_id: string | null;
  readonly messages: readonly { readonly role: string; readonly content: string; readonly status: string }[];
}

async function messageFaults(client: Client, { kind, sessionId, text }: Asked, run: Run): Promise<string[]> {
  if (kind === 'run' || !ENDED.has(run.status)) return [];
  const session = await client.ask<Session>('GET', `/chat-sessions/${sessionId}`);
  const faults = session.active_run_id === null ? [] : [`its session still waits for ${session.active_run_id}`];
  const replies = session.messages.filter(({ role }) => role === 'assistant');
  if (replies.length !== 1) return [...faults, `${replies.length} replies`];
  const { content = '', status } = replies[0] ?? {};
  if (run.status === 'completed') {
    if (content !== text) faults.push(`the message has another text: ${JSON.stringify(content.slice(0, 80))}`);
    if (status !== 'complete') faults.push(`the message is ${status}`);
  } else if (!text.startsWith(content)) faults.push('what was written is not the beginning of the text');
  return faults;
}
