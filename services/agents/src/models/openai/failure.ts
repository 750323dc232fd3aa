import { NOT_CALLED } from '@commonplace/kit/fetch';
import { ContextTooLong, type ModelFailure, ModelRefused, ModelUnavailable } from '../port.js';
import { MalformedReply } from './reply.js';
import { OPTIONAL_PARAMETERS, type OptionalParameter } from './request.js';

/** The facts read from an error of the library or of the API. */
interface Facts {
  readonly status: number | undefined;
  readonly code: string;
  readonly type: string;
  readonly param: string;
  readonly message: string;
  readonly header: (name: string) => string | undefined;
}

/** Statuses that concern a single request. */
const OF_REQUEST: ReadonlySet<number> = new Set([400, 413, 422]);
/** Codes and types of a prompt that is too long, of OpenAI and llama.cpp. */
const TOO_LONG: ReadonlySet<string> = new Set(['context_length_exceeded', 'exceed_context_size_error']);
/** Messages of a prompt that is too long, of vendors without a code for it. */
const SAYS_TOO_LONG =
  /maximum context length|context (?:window|length|size)|prompt is too long|too many (?:input )?tokens|input token count/i;
/** Messages about an unsupported parameter, as opposed to a wrong value. */
const UNSUPPORTED = /unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)|not permitted/i;
const MAX_CODE_CHARS = 100;

/** Converts the error of a call. The message contains neither request content nor keys. */
export function failureOf(error: unknown, receivedBytes: number): ModelFailure {
  if (error instanceof MalformedReply) {
    return new ModelUnavailable(`the chat model's reply is unusable: ${error.message}`, { receivedBytes });
  }
  const facts = factsOf(error);
  const { status, code } = facts;
  if (code === NOT_CALLED) {
    const message = `the chat model's URL is not called: ${facts.message}`;
    return new ModelRefused(message, { concerns: 'endpoint' });
  }
  const shown = code === '' ? '' : ` (${code.slice(0, MAX_CODE_CHARS)})`;
  if (isTooLong(facts))
    return new ContextTooLong(`the prompt is too long for the chat model${shown}`, { receivedBytes });
  if (status === undefined) {
    const what = isAnswered(error) ? `the chat model failed in its reply${shown}` : 'the chat model is not reached';
    return new ModelUnavailable(what, { receivedBytes });
  }
  const message = `the chat model answers ${status}${shown}`;
  if (isPassing(facts)) return new ModelUnavailable(message, { retryAfterMs: retryAfterOf(facts), receivedBytes });
  return new ModelRefused(message, { concerns: OF_REQUEST.has(status) ? 'request' : 'endpoint', receivedBytes });
}

/** Returns an optional parameter that the API refuses; undefined if it refuses none. */
export function refusedParameter(error: unknown): OptionalParameter | undefined {
  const facts = factsOf(error);
  const { status, code, param, message } = facts;
  if ((status !== 400 && status !== 422) || isTooLong(facts) || !UNSUPPORTED.test(`${code} ${message}`))
    return undefined;
  return OPTIONAL_PARAMETERS.find((name) => (param === '' ? message.includes(name) : param.startsWith(name)));
}

function factsOf(error: unknown): Facts {
  const { status, headers, error: body, message } = (error ?? {}) as Record<string, unknown>;
  const {
    code,
    type,
    param,
    message: bodyMessage,
  } = (typeof body === 'object' ? (body ?? {}) : {}) as Record<string, unknown>;
  return {
    // Some gateways send the status of an error in mid-stream as its code.
    status: typeof status === 'number' ? status : statusOf(code),
    code: typeof code === 'string' || typeof code === 'number' ? String(code) : '',
    type: typeof type === 'string' ? type : '',
    param: typeof param === 'string' ? param : '',
    message: typeof bodyMessage === 'string' ? bodyMessage : typeof message === 'string' ? message : '',
    header: (name) => (headers instanceof Headers ? (headers.get(name) ?? undefined) : undefined),
  };
}

function statusOf(code: unknown): number | undefined {
  const status = Number(code);
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
}

function isTooLong({ status, code, type, message }: Facts): boolean {
  if (TOO_LONG.has(code) || TOO_LONG.has(type) || status === 413) return true;
  return status !== undefined && OF_REQUEST.has(status) && SAYS_TOO_LONG.test(message);
}

/**
 * Returns whether a status may be transient. An exhausted quota has the status of a rate limit, but waiting does not
 * help.
 */
function isPassing({ status = 0, code, type }: Facts): boolean {
  if (code === 'insufficient_quota' || type === 'insufficient_quota') return false;
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
}

/** Returns whether the API itself reported the error, as a frame of a stream. */
function isAnswered(error: unknown): boolean {
  return error instanceof SyntaxError || (error as { error?: unknown } | undefined)?.error !== undefined;
}

function retryAfterOf({ header }: Facts): number | undefined {
  const ms = Number(header('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const after = header('retry-after');
  if (after === undefined) return undefined;
  const seconds = Number(after);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, Math.round(wait)) : undefined;
}
