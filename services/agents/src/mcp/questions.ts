import type { Guard } from '@commonplace/kit/fetch';
import type { Envelope } from '@commonplace/kit/secrets';
import type { InputRequiredResult, InputResponses } from '@modelcontextprotocol/client';
import type { JsonSchema } from '../domain/schema-check.js';
import { McpFailure, shorten } from './failure.js';
import { MAX_REQUEST_STATE_BYTES, MAX_ROUNDS } from './limits.js';
import { readSchema, SchemaRefused } from './schema.js';
import { seal, unseal } from './secrets.js';

/** A question of a server to the person who started the run. */
export interface Question {
  readonly title: string;
  /** The form to fill in; absent if there is a page to open. */
  readonly schema?: JsonSchema | undefined;
  readonly url?: string | undefined;
  /** The encrypted `CallState`. */
  readonly state: string;
}

interface OpenQuestion {
  readonly key: string;
  readonly title: string;
  readonly schema?: JsonSchema | undefined;
  readonly url?: string | undefined;
}

/** The state of a call that waits for a person's answers. */
export interface CallState {
  /** Number of times that the server has asked so far. */
  readonly round: number;
  /** State of the server, which gets it back unchanged. */
  readonly requestState?: string | undefined;
  readonly responses: InputResponses;
  /** The open questions; the first one is asked next. */
  readonly open: readonly OpenQuestion[];
}

export interface CallOwner {
  /** The id of the run and of the call in it. */
  readonly id: string;
  readonly tenant: string;
}

const FIRST: CallState = { round: 0, responses: {}, open: [] };

/**
 * Reads the state that a call has stored with its question. Throws `SecretUnreadable` for the state of another call.
 */
export function readState(envelope: Envelope, owner: CallOwner, state: string | undefined): CallState {
  return state === undefined ? FIRST : unseal<CallState>(envelope, owner, state);
}

/** Adds the answer to the first open question. A declined question ends the call elsewhere. */
export function withAnswer(state: CallState, answer: Readonly<Record<string, unknown>> | undefined): CallState {
  const [asked, ...open] = state.open;
  if (asked === undefined) return state;
  const content = asked.schema === undefined ? {} : { content: (answer ?? {}) as Record<string, string> };
  return { ...state, responses: { ...state.responses, [asked.key]: { action: 'accept', ...content } }, open };
}

/** Returns the next question of a call; undefined if all are answered. */
export function nextQuestion(envelope: Envelope, owner: CallOwner, state: CallState): Question | undefined {
  const [asked] = state.open;
  if (asked === undefined) return undefined;
  const { title, schema, url } = asked;
  return { title, schema, url, state: seal(envelope, owner, state) };
}

/** Returns a question that asks a person to open a page, after which the call is made again. */
export function pageQuestion(
  envelope: Envelope,
  owner: CallOwner,
  state: CallState,
  title: string,
  url: string,
): Question {
  return { title, url, state: seal(envelope, owner, { ...state, round: state.round + 1 }) };
}

/** Reads the questions of a server. Throws `McpFailure` for requests that a person cannot answer. */
export function readQuestions(
  guard: Guard,
  serverName: string,
  before: CallState,
  { inputRequests = {}, requestState }: InputRequiredResult,
): CallState {
  const round = before.round + 1;
  if (round > MAX_ROUNDS) throw new McpFailure('answered', `The tool has asked more than ${MAX_ROUNDS} times.`);
  if (requestState !== undefined && Buffer.byteLength(requestState) > MAX_REQUEST_STATE_BYTES) {
    throw new McpFailure('answered', 'The state that the tool sent with its question is too large.');
  }
  const entries = Object.entries(inputRequests);
  if (entries.length > MAX_ROUNDS) throw new McpFailure('answered', 'The tool has asked too many questions at once.');
  const open = entries.map(([key, request]): OpenQuestion => {
    if (request.method !== 'elicitation/create') {
      throw new McpFailure('answered', `The tool asks for ${shorten(request.method)}, which is not offered.`);
    }
    const { params } = request;
    const title = `${serverName} asks: ${shorten(params.message)}`;
    if (params.mode === 'url') return { key, title, url: checkedUrl(guard, params.url) };
    return { key, title, schema: formOf(params.requestedSchema) };
  });
  return { round, requestState, responses: {}, open };
}

/**
 * Returns the URL of a page. The page is opened by a person and never fetched, but the rules for fetched URLs apply.
 */
function checkedUrl(guard: Guard, text: string): string {
  try {
    return guard.check(text).href;
  } catch {
    throw new McpFailure('answered', 'The tool asks to open a page that is not allowed.');
  }
}

function formOf(schema: unknown): JsonSchema {
  try {
    return readSchema(schema);
  } catch (error) {
    if (error instanceof SchemaRefused)
      throw new McpFailure('answered', `The question of the tool is refused: ${error.message}.`);
    throw error;
  }
}
