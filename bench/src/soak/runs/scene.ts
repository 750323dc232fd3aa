import { unevenPieces } from '@commonplace/acceptance/dist/src/joined-text.js';
import {
  type ChatServer,
  type ChatServerOptions,
  openChatServer,
  type ReceivedCall,
  type ScriptedReply,
} from '@commonplace/kit/testing/chat-server';
import { createWorkspace, type Made } from '../../fill.js';
import { type Client, openClient } from '../../http.js';
import { type System, startSystem } from '../../system.js';

/**
 * Credits for 1,000 tokens of the scripted model. The rates are chosen so that the price of a token includes a fraction
 * of a millionth.
 */
const RATES = { input_per_1k: '0.153721', output_per_1k: '0.601357' };

/**
 * Returns the price of a call in millionths of a credit, rounded half up, by the tokens that the provider has counted.
 */
export function priceOf({ inputTokens, outputTokens }: ReceivedCall['billed']): number {
  return Math.floor((inputTokens * 153_721 + outputTokens * 601_357) / 1000 + 0.5);
}

const CONNECTIONS = 64;

/** A system with a scripted model that can be killed. */
export interface Scene {
  readonly model: ChatServer;
  readonly home: string;
  readonly workspaceId: string;
  system: System;
  client: Client;
  /** Kills the system, calls `between`, and starts the system again on its data. */
  crash(between?: () => unknown): Promise<void>;
  stop(): Promise<void>;
}

interface SceneOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly onProgress?: ChatServerOptions['onProgress'];
}

export async function openScene(home: string, { settings = {}, onProgress }: SceneOptions = {}): Promise<Scene> {
  const model = await openChatServer(onProgress === undefined ? {} : { onProgress });
  const all = {
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: JSON.stringify([{ id: 'scripted', credit_rates: RATES, max_output_tokens: 2048 }]),
    COMMONPLACE_RUNS_PER_AGENT: '200',
    COMMONPLACE_RUNS_RUNNING: '200',
    COMMONPLACE_SAMPLE: '0',
    ...settings,
  };
  const system = await startSystem({ home, settings: all });
  const client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
  const scene: Scene = {
    ...{ model, home, system, client },
    workspaceId: await createWorkspace(client, 'Runs'),
    async crash(between = () => {}) {
      await scene.system.kill();
      scene.client.close();
      await between();
      scene.system = await startSystem({ home, port: Number(new URL(scene.system.baseUrl).port), settings: all });
      scene.client = openClient(scene.system.baseUrl, scene.system.apiKey, CONNECTIONS);
    },
    async stop() {
      scene.client.close();
      await scene.system.stop();
      await model.close();
    },
  };
  return scene;
}

/** The work of a run: turns that call tools, followed by a text. */
export interface Plan {
  readonly turns: number;
  readonly callsPerTurn: number;
  readonly words: number;
  readonly firstMs: number;
  readonly gapMs: number;
}

/** A requested run, in a chat session or on its own. */
export interface Asked {
  readonly name: string;
  readonly question: string;
  readonly text: string;
  readonly plan: Plan;
  readonly kind: 'run' | 'chat';
  /** Undefined until the request is answered. */
  runId?: string;
  sessionId?: string;
  askedAt: number;
  isCanceled?: boolean;
}

let count = 0;

/** Scripts a run. */
export function prepare(model: ChatServer, plan: Plan, kind: Asked['kind']): Asked {
  const number = ++count;
  const name = `piece-${String(number).padStart(6, '0')}`;
  const text = unevenPieces(number, plan.words);
  const calls = (turn: number): ScriptedReply => ({
    firstDelayMs: plan.firstMs,
    toolCalls: Array.from({ length: plan.callsPerTurn }, (_, i) => ({
      id: `${name}-${turn}-${i}`,
      name: 'search',
      arguments: { query: `subject ${turn} ${i}` },
    })),
  });
  const replies = [
    ...Array.from({ length: plan.turns }, (_, turn) => calls(turn)),
    { text, firstDelayMs: plan.firstMs, delayMs: plan.gapMs },
  ];
  model.script({ match: name, by: 'turn', replies });
  return { name, question: `Play ${name}.`, text: text.join(''), plan, kind, askedAt: 0 };
}

/** Requests a run. Repeating the request has no further effect. Rejects if there is no answer. */
export async function ask({ client, workspaceId }: Pick<Scene, 'client' | 'workspaceId'>, asked: Asked): Promise<void> {
  asked.askedAt ||= Date.now();
  const { question, name, kind } = asked;
  const isRun = kind === 'run';
  const messages = [{ role: 'user', content: question }];
  const body = isRun
    ? { input: question, workspace_id: workspaceId }
    : { workspace_id: workspaceId, messages, respond: true };
  const path = isRun ? '/agent-runs' : '/chat-sessions';
  const { status, text } = await client.send('POST', path, body, { 'idempotency-key': name });
  if (status !== 201) throw new Refused(`POST ${path} answers ${status}: ${text.slice(0, 300)}`, status);
  const data = (JSON.parse(text) as { data: Made & { run_id?: string } }).data;
  if (isRun) asked.runId = data.id;
  else [asked.sessionId, asked.runId] = [data.id, data.run_id ?? ''];
}

export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}
