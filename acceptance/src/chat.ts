import { type Api, type Credential, credentialHeaders } from './client.js';
import { eventsOf, type ServerSentEvent } from './events.js';
import { eventually } from './eventually.js';
import type { System } from './system.js';

interface Citation {
  readonly marker: number;
  readonly hidden?: boolean;
  readonly resource_id: string;
  readonly name: string;
  readonly type: string;
  readonly block_id: string | null;
  readonly row_id: string | null;
  readonly content_version: number;
  readonly snippet: string;
  readonly ranges: readonly (readonly [number, number])[];
  readonly is_stale: boolean;
}

interface ChatMessage {
  readonly id: string;
  readonly seq: number;
  readonly role: string;
  readonly content?: string;
  readonly citations?: readonly Citation[];
  readonly status?: string;
  readonly run_id?: string | null;
  readonly degraded?: boolean;
  readonly imported?: boolean;
  readonly superseded_by_run_id?: string | null;
  readonly dropped_messages?: number;
  readonly withheld?: boolean;
  readonly reason?: string;
  readonly error?: { readonly code: string } | null;
}

export interface ChatSession {
  readonly id: string;
  readonly workspace_id: string | null;
  readonly org_id: string | null;
  readonly title: string;
  readonly model: string;
  readonly status: string;
  readonly visibility: string;
  readonly is_archived: boolean;
  readonly message_count: number;
  readonly active_run_id: string | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number; readonly credits: string };
  readonly context: { readonly resource_ids: readonly string[]; readonly search: boolean };
  readonly version: number;
  readonly messages: readonly ChatMessage[];
  readonly run_id?: string;
}

export interface Run {
  readonly id: string;
  readonly status: string;
  readonly source: string;
  readonly session_id: string | null;
  readonly model: string;
  readonly output: {
    readonly text: string;
    readonly resource_ids: readonly string[];
    readonly data: unknown;
    readonly citations: readonly Citation[];
    readonly degraded: boolean;
    readonly truncated: boolean;
  } | null;
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number; readonly credits: string };
  readonly steps?: readonly {
    readonly seq: number;
    readonly type: string;
    readonly name: string;
    readonly status: string;
    readonly attempt: number;
    readonly tool_call_id: string | null;
    readonly output: unknown;
  }[];
  readonly cancel_reason: string | null;
  readonly retry_of: string | null;
  readonly queue_position: number | null;
  readonly input: { readonly text: string } | null;
  readonly attempt: number;
  readonly version: number;
}

const ENDED = ['completed', 'failed', 'canceled', 'expired'];

/** Waits until a run has ended. Returns it with its steps. */
export async function endOfRun(by: Api, id: string, withinMs = 30_000): Promise<Run> {
  return eventually(async () => {
    const { data } = await by.get<Run>(`/agent-runs/${id}?include=steps`);
    if (!ENDED.includes(data.status)) throw new Error(`the run is ${data.status}`);
    return data;
  }, withinMs);
}

/** Sends a request and returns a reader of the events in its answer. */
export async function streamOf(
  { baseUrl }: Pick<System, 'baseUrl'>,
  credential: Credential,
  method: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly response: Response; readonly events: ReturnType<typeof eventsOf> }> {
  const response = await fetch(`${baseUrl}/api/v1${path}`, {
    method,
    headers: {
      ...credentialHeaders(credential, method),
      Accept: 'text/event-stream',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { response, events: eventsOf(response) };
}

/** Reads all events up to the end of the stream. */
export async function allEvents({ next }: ReturnType<typeof eventsOf>): Promise<ServerSentEvent[]> {
  const all: ServerSentEvent[] = [];
  for (let event = await next(); event !== undefined; event = await next()) all.push(event);
  return all;
}

/** Joins the pieces of a message by their offsets in code points. `known` is the text from an earlier connection. */
export function joinText(events: readonly ServerSentEvent[], known = ''): string {
  let text = [...known];
  for (const { event, data } of events) {
    if (event === 'message.restarted') text = [];
    if (event === 'message.snapshot') text = [...String(data.text)];
    if (event !== 'message.delta') continue;
    const offset = Number(data.offset);
    if (offset > text.length) throw new Error(`a piece at ${offset} comes after ${text.length} characters`);
    text = [...text.slice(0, offset), ...String(data.text)];
  }
  return text.join('');
}
