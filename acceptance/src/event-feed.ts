import { type Credential, credentialHeaders } from './client.js';
import { eventsOf, type ServerSentEvent } from './events.js';
import { eventually } from './eventually.js';
import type { System } from './system.js';

/** The data of an event in a stream of `/events`. */
export interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly workspace_id: string | null;
  readonly actor: { readonly type: string; readonly id: string };
  readonly data: Readonly<Record<string, unknown>>;
  readonly chain: readonly string[];
}

/** A stream of events that is read continuously. */
export interface Feed {
  readonly response: Response;
  /** All received events, including `position`, `reset` and `error`. */
  readonly all: readonly ServerSentEvent[];
  /** Returns the received events without those about the stream itself. */
  events(): FeedEvent[];
  types(): string[];
  /** Waits until an event of a type is received. */
  sees(type: string, withinMs?: number): Promise<FeedEvent>;
  /** Resolves once the server has ended the stream. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

const ABOUT_STREAM = new Set(['position', 'reset', 'error']);

/** Opens a stream of events, and waits until it reports the position at which it starts. */
export async function openFeed(
  { baseUrl }: Pick<System, 'baseUrl'>,
  credential: Credential,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<Feed> {
  const cut = new AbortController();
  const response = await fetch(`${baseUrl}/api/v1/events${query}`, {
    headers: { ...credentialHeaders(credential, 'GET'), Accept: 'text/event-stream', ...headers },
    signal: cut.signal,
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const all: ServerSentEvent[] = [];
  const reader = eventsOf(response);
  const ended = (async () => {
    for (let event = await reader.next(); event !== undefined; event = await reader.next()) all.push(event);
  })().catch((error: unknown) => {
    if (!cut.signal.aborted) throw error;
  });
  ended.catch(() => {});
  const events = () =>
    all.filter(({ event = '' }) => !ABOUT_STREAM.has(event)).map(({ data }) => data as unknown as FeedEvent);
  await eventually(() => {
    // A stream that resumes sends nothing before something happens.
    if (all.length === 0 && headers['Last-Event-ID'] === undefined) throw new Error('the stream sent no event');
  });
  return {
    ...{ response, all, events, ended },
    types: () => events().map(({ type }) => type),
    sees: (type, withinMs) =>
      eventually(() => {
        const found = events().find((event) => event.type === type);
        if (found === undefined) throw new Error(`no ${type} among ${events().map((event) => event.type)}`);
        return found;
      }, withinMs),
    async close() {
      cut.abort();
      await ended;
    },
  };
}
