import { randomInt } from 'node:crypto';
import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { type Cuts, followWithCuts, type Resumption, unevenPieces } from '../src/joined-text.js';
import type { Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

/** Tests that clients whose connection is lost repeatedly have the stored text when a run ends. */

const CUTS = 60;
const FOLLOWERS = 3;
const RESUMPTIONS: readonly Resumption[] = ['last', 'none', 'last', 'old', 'last', 'foreign', 'last', 'garbage'];

let system: OwnSystem;
let model: ChatServer;
let by: Api;
let workspaceId: string;

beforeAll(async () => {
  model = await openChatServer();
  system = await startSystem({ COMMONPLACE_CHAT_MODEL_URL: model.url, COMMONPLACE_CHAT_MODELS: 'scripted' });
  by = api(system, system.owner.apiKey);
  workspaceId = (await by.post<Workspace>('/workspaces', { name: 'Streams' })).data.id;
}, 150_000);

afterAll(async () => {
  await system?.stop();
  await model?.close();
});

/** Scripts a slow text after a tool call. Returns the question and the text. */
function prepare(number: number): { question: string; text: string } {
  const pieces = unevenPieces(number, 150);
  const calls = { text: 'First, ', toolCalls: [{ id: `call-${number}`, name: 'search', arguments: { query: 'x' } }] };
  model.script({ match: `piece-${number}-`, by: 'turn', replies: [calls, { text: pieces, delayMs: 30 }] });
  return { question: `Play piece-${number}-.`, text: `First, ${pieces.join('')}` };
}

interface Started {
  /** Path of the stream. */
  readonly path: string;
  /** Text of the reply as it is stored. */
  stored(): Promise<string | undefined>;
}

async function startRun(question: string): Promise<Started> {
  const { data } = await by.post<{ id: string }>('/agent-runs', { input: question, workspace_id: workspaceId });
  const run = () => by.get<{ output: { text: string } | null }>(`/agent-runs/${data.id}`);
  return { path: `/agent-runs/${data.id}/events`, stored: async () => (await run()).data.output?.text };
}

async function startReply(content: string): Promise<Started & { readonly sessionId: string }> {
  const body = { workspace_id: workspaceId, messages: [{ role: 'user', content }], respond: true };
  const { data } = await by.post<{ id: string; run_id: string }>('/chat-sessions', body);
  const session = () => by.get<{ messages: { role: string; content: string }[] }>(`/chat-sessions/${data.id}`);
  const reply = async () => (await session()).data.messages.find(({ role }) => role === 'assistant')?.content;
  return { path: `/agent-runs/${data.run_id}/events`, sessionId: data.id, stored: reply };
}

async function startReplyReadBySession(content: string): Promise<Started> {
  const { sessionId, stored } = await startReply(content);
  return { path: `/chat-sessions/${sessionId}`, stored };
}

/** Cuts a number of times in total, after random times, and resumes in each way. */
function someCuts(): Cuts & { count: number } {
  let resumed = 0;
  return {
    count: 0,
    next() {
      if (this.count >= CUTS) return undefined;
      this.count++;
      return randomInt(5, 305);
    },
    resumption: () => RESUMPTIONS[resumed++ % RESUMPTIONS.length] as Resumption,
  };
}

test.each([
  ['a run', startRun],
  ['a reply in a chat session', startReply],
  ['a reply that is read by its session', startReplyReadBySession],
])('the text of %s that was joined across interruptions equals the stored one', async (name, start) => {
  const { question, text } = prepare(name.length);
  const { path, stored } = await start(question);
  const cuts = someCuts();
  const headers = { authorization: `Bearer ${system.owner.apiKey}`, accept: 'text/event-stream' };
  const open = (lastEventId: string | undefined, signal: AbortSignal) =>
    fetch(`${system.baseUrl}/api/v1${path}`, {
      signal,
      headers: { ...headers, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
    });
  const joined = await Promise.all(Array.from({ length: FOLLOWERS }, () => followWithCuts(open, cuts)));
  expect(await stored()).toBe(text);
  for (const one of joined) {
    expect(one.faults).toEqual([]);
    // A client that returns after the end gets that information, and reads the stored text.
    if (one.ended === 'idle') expect(text.startsWith(one.text)).toBe(true);
    else expect(one).toMatchObject({ text, content: text, ended: 'run.completed' });
  }
  expect(path.startsWith('/agent-runs') && joined.some(({ ended }) => ended === 'idle')).toBe(false);
  expect(cuts.count).toBeGreaterThan(5);
});
