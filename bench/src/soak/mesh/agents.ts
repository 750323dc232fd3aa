import { setTimeout as sleep } from 'node:timers/promises';
import { type Person, signIn } from '@commonplace/acceptance/dist/src/people.js';
import type { ChatServer, ScriptedReply } from '@commonplace/kit/testing/chat-server';
import { createWorkspace, type Made } from '../../fill.js';
import type { Client } from '../../http.js';
import type { Tally } from '../tally.js';
import type { Mesh } from './mesh.js';
import { restart } from './rolling.js';

/**
 * Number of runs that wait for an approval while every process is restarted. Below, number of runs that are being
 * executed.
 */
const WAITING = 50;
const RUNNING = 50;
/**
 * Number of words of a run's text. Below, milliseconds between two of them. Writing it takes as long as the restarts.
 */
const WORDS = 400;
const GAP_MS = 100;
const TIMEOUT_MS = 180_000;

interface Run {
  readonly id: string;
  readonly status: string;
  readonly attempt: number;
  readonly pending_approval_ids: readonly string[];
  readonly output: { readonly text: string } | null;
  readonly error: { readonly code: string } | null;
}

/**
 * Restarts every process of a mesh while some runs wait and others are being executed, `rounds` times. Checks that each
 * ends as if nothing had happened: approved actions happen once, and no text has a gap.
 */
export async function soakAgents(mesh: Mesh, rounds: number, tally: Tally): Promise<void> {
  const client = mesh.balancer.client(mesh.apiKey);
  for (let round = 1; round <= rounds; round++) {
    mesh.model.reset();
    const workspaceId = await createWorkspace(client, `Agents ${round}`);
    const agent = await createAgent(client, workspaceId);
    const start = (name: string) =>
      startRun(client, { agent_id: agent, workspace_id: workspaceId, input: `Do ${name}.` });
    const waiting = await all(WAITING, async (i) => start(scriptCreation(mesh.model, i)));
    await until(client, waiting, ({ status }) => status === 'awaiting_approval');
    const running = await all(RUNNING, async (i) => start(scriptText(mesh.model, i)));
    await until(client, running, ({ status }) => status === 'running');

    for (const part of mesh.parts) await restart(mesh, part);
    const unmoved = await readAll(client, waiting);
    // API keys may not decide approvals, so a person signs in.
    const person = await signIn({ baseUrl: mesh.baseUrl() }, mesh.owner);
    await all(WAITING, async (i) => approve(person, unmoved[i] as Run));
    const ended = await until(client, [...waiting, ...running], hasEnded);
    const made = await client.ask<{ items: readonly { name: string }[] }>(
      'GET',
      `/workspaces/${workspaceId}/resources?limit=200`,
    );

    const at = `(round ${round})`;
    tally.check(`runs wait for approvals through a restart of everything ${at}`, notWaiting(unmoved));
    tally.check(`every run ends ${at}`, notCompleted(ended));
    tally.check(`what was approved has happened once ${at}`, notOnce(made.items.map(({ name }) => name)));
    tally.check(`no text of a run that was cut off has a gap ${at}`, wrongTexts(ended.slice(WAITING)));
    const again = ended.filter(({ attempt }) => attempt > 1).length;
    console.log(
      `agents ${round}/${rounds}: ${mesh.parts.length} parts restarted with ${WAITING} runs waiting and ${RUNNING} running: ` +
        `${again} taken up by another process, ${ended.filter(({ status }) => status === 'completed').length} completed`,
    );
  }
}

async function createAgent(client: Client, workspaceId: string): Promise<string> {
  const body = { name: 'Clerk', tools: ['search', 'read', 'create'], approval_policy: { mode: 'always' } };
  const { id } = await client.ask<Made>('POST', '/agents', body);
  await client.ask('PUT', `/agents/${id}/workspaces`, { workspaces: [{ workspace_id: workspaceId, role: 'editor' }] });
  return id;
}

async function startRun(client: Client, body: object): Promise<string> {
  return (await client.ask<Made>('POST', '/agent-runs', body)).id;
}

/** Scripts a run that creates a document once it is approved. Returns the name of the document. */
function scriptCreation(model: ChatServer, number: number): string {
  const name = documentName(number);
  const call = {
    id: `call-${name}`,
    name: 'create_resource',
    arguments: { type: 'document', name, markdown: 'Words.' },
  };
  const replies: ScriptedReply[] = [{ toolCalls: [call] }, { text: 'It is there.' }];
  model.script({ match: `Do ${name}.`, by: 'turn', replies });
  return name;
}

const documentName = (number: number): string => `created-${String(number).padStart(3, '0')}`;

/** Scripts a run that writes a long text. Returns its name. */
function scriptText(model: ChatServer, number: number): string {
  const name = `written-${String(number).padStart(3, '0')}`;
  model.script({ match: `Do ${name}.`, by: 'turn', replies: [{ text: textPieces(), delayMs: GAP_MS }] });
  return name;
}

const textPieces = (): string[] => Array.from({ length: WORDS }, (_, i) => `word${i} `);

async function approve(person: Person, { pending_approval_ids: [id] }: Run): Promise<void> {
  if (id === undefined) return;
  const { status, text } = await person.patch(`/agent-approvals/${id}`, { status: 'approved' });
  if (status !== 200) throw new Error(`approving ${id} answers ${status}: ${text}`);
}

function readAll(client: Client, ids: readonly string[]): Promise<Run[]> {
  return all(ids.length, (i) => client.ask<Run>('GET', `/agent-runs/${ids[i]}`));
}

/** Polls runs until all of them satisfy `wanted`, or the timeout has passed. Returns their last state. */
async function until(client: Client, ids: readonly string[], wanted: (run: Run) => boolean): Promise<Run[]> {
  const end = Date.now() + TIMEOUT_MS;
  for (;;) {
    const runs = await readAll(client, ids);
    if (runs.every(wanted) || Date.now() > end) return runs;
    await sleep(500);
  }
}

const hasEnded = ({ status }: Run): boolean =>
  !['queued', 'running', 'awaiting_approval', 'canceling'].includes(status);

const notWaiting = (runs: readonly Run[]): string[] =>
  runs.filter(({ status }) => status !== 'awaiting_approval').map(({ id, status }) => `${id} is ${status}`);

const notCompleted = (runs: readonly Run[]): string[] =>
  runs
    .filter(({ status }) => status !== 'completed')
    .map(({ id, status, error }) => `${id} is ${status} ${error?.code ?? ''}`);

function notOnce(names: readonly string[]): string[] {
  return Array.from({ length: WAITING }, (_, i) => documentName(i)).flatMap((name) => {
    const count = names.filter((one) => one === name).length;
    return count === 1 ? [] : [`${name} is there ${count} times`];
  });
}

function wrongTexts(runs: readonly Run[]): string[] {
  const text = textPieces().join('').trim();
  return runs.filter(({ output }) => output?.text.trim() !== text).map(({ id }) => `the text of ${id} is another`);
}

function all<T>(count: number, act: (i: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => act(i)));
}
