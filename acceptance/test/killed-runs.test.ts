import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { followWithCuts, unevenPieces } from '../src/joined-text.js';
import type { Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

/** Tests that runs of killed processes continue after the next start, and that readers receive the whole text. */

/** A run continues when its worker's lease has expired, after at most 15 s. */
const STUCK_MS = 30_000;
const RUNS = 4;

let system: OwnSystem;
let model: ChatServer;
let by: Api;

beforeAll(async () => {
  model = await openChatServer();
  system = await startSystem({ COMMONPLACE_CHAT_MODEL_URL: model.url, COMMONPLACE_CHAT_MODELS: 'scripted' });
  by = api(system, system.owner.apiKey);
}, 150_000);

afterAll(async () => {
  await system?.stop();
  await model?.close();
});

interface Run {
  readonly id: string;
  readonly status: string;
  readonly attempt: number;
  readonly output: { readonly text: string } | null;
  readonly steps: readonly { readonly tool_call_id: string | null; readonly status: string }[];
}

test('a run that was killed while it wrote its answer ends with the complete answer', async () => {
  const { data: workspace } = await by.post<Workspace>('/workspaces', { name: 'Killed' });
  const asked = await Promise.all(
    Array.from({ length: RUNS }, async (_, i) => {
      const pieces = unevenPieces(i, 100);
      const calls = { toolCalls: [{ id: `call-${i}`, name: 'search', arguments: { query: 'x' } }] };
      model.script({ match: `piece-${i}-`, by: 'turn', replies: [calls, { text: pieces, delayMs: 40 }] });
      const body = { input: `Play piece-${i}-.`, workspace_id: workspace.id };
      return { id: (await by.post<Run>('/agent-runs', body)).data.id, text: pieces.join('') };
    }),
  );
  const headers = { authorization: `Bearer ${system.owner.apiKey}`, accept: 'text/event-stream' };
  const following = asked.map(({ id }) =>
    followWithCuts(
      (last, signal) =>
        fetch(`${system.baseUrl}/api/v1/agent-runs/${id}`, {
          signal,
          headers: { ...headers, ...(last !== undefined && { 'last-event-id': last }) },
        }),
      { next: () => undefined, resumption: () => 'last' },
    ),
  );
  // Each model call of the text is in progress.
  await eventually(async () => {
    expect(model.calls.filter(({ billed }) => billed.outputTokens > 10)).toHaveLength(RUNS);
  }, STUCK_MS);
  await system.kill();
  await system.restart();
  const runs = await eventually(async () => {
    const read = ({ id }: { id: string }) => by.get<Run>(`/agent-runs/${id}?include=steps`);
    const found = (await Promise.all(asked.map(read))).map(({ data }) => data);
    expect(found.map(({ status }) => status)).toEqual(asked.map(() => 'completed'));
    return found;
  }, STUCK_MS);
  const joined = await Promise.all(following);
  for (const [i, { output, attempt, steps }] of runs.entries()) {
    expect(output?.text).toBe(asked[i]?.text);
    expect(attempt).toBe(2);
    expect(steps.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual([`call-${i}`]);
    expect(joined[i]).toMatchObject({ text: asked[i]?.text, faults: [], ended: 'run.completed' });
  }
}, 200_000);
