import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newAgent, putWorkspaces } from '../src/agents.js';
import { eventually } from '../src/eventually.js';
import { type RunningMcpServer, startMcpServer } from '../src/mcp-server.js';
import { type Person, signUp } from '../src/people.js';
import type { List, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

/**
 * Tests calls of an MCP server that took effect and whose response never arrives, because all processes are
 * killed before: no call is made twice unless a person or the owner of the agent has allowed it.
 */

/** A run continues when its worker's lease has expired, after at most 15 s. */
const STUCK_MS = 60_000;
/** The agent whose server repeats the call, and the reaction of the others to an unknown outcome. */
const CASES = ['approved', 'denied', 'continue', 'fail', 'idempotent'] as const;
type Case = (typeof CASES)[number];

interface Payment {
  readonly to: string;
  readonly key: string;
}

interface Run {
  readonly id: string;
  readonly status: string;
  readonly error: { readonly code: string } | null;
  readonly pending_approval_ids: readonly string[];
  readonly steps: readonly { readonly name: string; readonly status: string; readonly attempt: number }[];
}

let model: ChatServer;
let system: OwnSystem;
let owner: Person;
let workspace: Workspace;
let bank: RunningMcpServer;
const payments: Payment[] = [];
let answers = false;

beforeAll(async () => {
  model = await openChatServer();
  const pay = {
    name: 'pay',
    description: 'Pays.',
    async call({ to }: Readonly<Record<string, unknown>>, key: string): Promise<string> {
      payments.push({ to: String(to), key });
      if (!answers) await new Promise(() => {});
      return 'Paid.';
    },
  };
  bank = await startMcpServer([pay]);
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: 'scripted',
    COMMONPLACE_URL_ALLOWLIST: '127.0.0.1,localhost',
  });
  owner = await signUp(system, 'Owner');
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Bank' })).data;
}, 180_000);

afterAll(async () => {
  await system?.stop();
  await model?.close();
  await bank?.stop();
});

/** Creates an agent that may pay without approval, even after it has read untrusted content. */
async function newPayer(on: Case): Promise<string> {
  const approval_policy = { mode: 'custom', rules: [{ decision: 'allow', even_if_tainted: true }] };
  const on_unknown = on === 'continue' || on === 'fail' ? on : 'ask';
  const { id } = await newAgent(owner, { tools: [], approval_policy, on_unknown });
  await putWorkspaces(owner, id, { workspaces: [{ workspace_id: workspace.id, role: 'editor' }] });
  const idempotent_tools = on === 'idempotent' ? ['pay'] : [];
  const server = { name: 'bank', url: bank.url, require_approval: 'never', idempotent_tools };
  const { status, text } = await owner.post(`/agents/${id}/mcp`, server);
  if (status !== 201) throw new Error(text);
  await eventually(async () => {
    const { data } = await owner.get<List<{ status: string }>>(`/agents/${id}/mcp`);
    expect(data.items.map((one) => one.status)).toEqual(['connected']);
  }, STUCK_MS);
  return id;
}

async function startRun(agentId: string, on: Case): Promise<string> {
  const call = { id: `pay-${on}`, name: 'bank__pay', arguments: { to: on } };
  model.script({ match: `Pay ${on}.`, by: 'turn', replies: [{ toolCalls: [call] }, { text: 'Done.' }] });
  const body = { agent_id: agentId, input: `Pay ${on}.`, workspace_id: workspace.id };
  const { data, status, text } = await owner.post<Run>('/agent-runs', body);
  if (status !== 201) throw new Error(text);
  return data.id;
}

const until = (id: string, status: string): Promise<Run> =>
  eventually(async () => {
    const { data } = await owner.get<Run>(`/agent-runs/${id}?include=steps`);
    if (data.status !== status) throw new Error(`it is ${JSON.stringify(data)}`);
    return data;
  }, STUCK_MS);

const paid = (on: Case) => payments.filter(({ to }) => to === on);
const callOf = ({ steps }: Run) => {
  const step = steps.find(({ name }) => name === 'bank__pay');
  return step && [step.status, step.attempt];
};

test('a call in progress when all processes were killed is not repeated automatically', async () => {
  const agents = new Map<Case, string>();
  const runs = new Map<Case, string>();
  for (const on of CASES) agents.set(on, await newPayer(on));
  for (const on of CASES) runs.set(on, await startRun(agents.get(on) ?? '', on));
  const idOf = (on: Case) => runs.get(on) ?? '';
  await eventually(async () => expect(payments.map(({ to }) => to).sort()).toEqual([...CASES].sort()), STUCK_MS);
  await system.kill();
  answers = true;
  await system.restart();

  for (const on of ['approved', 'denied'] as const) {
    const run = await until(idOf(on), 'awaiting_approval');
    expect(callOf(run)).toEqual(['unknown', 1]);
    const path = `/agent-approvals/${run.pending_approval_ids[0]}`;
    const { data } = await owner.get<{ kind: string; tool: object; input: object }>(path);
    expect(data).toMatchObject({ kind: 'retry', input: { to: on } });
    expect(paid(on)).toHaveLength(1);
    const { status } = await owner.patch(path, { status: on });
    expect(status).toBe(200);
  }
  const approved = await until(idOf('approved'), 'completed');
  expect(callOf(approved)).toEqual(['completed', 2]);
  // The server can detect by the key that it is the same call.
  expect(new Set(paid('approved').map(({ key }) => key)).size).toBe(1);
  expect(paid('approved')).toHaveLength(2);
  expect(callOf(await until(idOf('denied'), 'completed'))).toEqual(['unknown', 1]);
  expect(callOf(await until(idOf('continue'), 'completed'))).toEqual(['unknown', 1]);
  const failed = await until(idOf('fail'), 'failed');
  expect([failed.error?.code, callOf(failed)]).toEqual(['unknown_outcome', ['unknown', 1]]);
  for (const on of ['denied', 'continue', 'fail'] as const) expect(paid(on)).toHaveLength(1);

  // A tool that the owner has marked as idempotent is repeated with the same key, without approval.
  expect(callOf(await until(idOf('idempotent'), 'completed'))).toEqual(['completed', 2]);
  expect(new Set(paid('idempotent').map(({ key }) => key)).size).toBe(1);

  // A new run for the same task is a new call.
  const again = await owner.post<Run & { retry_of: string }>('/agent-runs', { retry_of: idOf('fail') });
  expect([again.status, again.data.retry_of]).toEqual([201, idOf('fail')]);
  expect(callOf(await until(again.data.id, 'completed'))).toEqual(['completed', 1]);
  expect(new Set(paid('fail').map(({ key }) => key)).size).toBe(2);
}, 300_000);
