import { type Fetched, type Guard, headerOf, readStart, retryAfterMs, UrlNotAllowed } from '@commonplace/kit/fetch';
import { isObject } from '@commonplace/kit/json';
import { signedHeaders } from '@commonplace/platform/webhooks';
import { isHeaderValue, NOT_IN_HEADERS } from '../../definitions/config-check.js';
import { fillIn } from '../../definitions/fill-in.js';
import { CHAIN_HEADER, writeChain } from '../../domain/chain.js';
import { isAllowedHost } from '../../domain/hosts.js';
import { ActionError } from '../failure.js';
import { chainOf } from '../finished-event.js';
import { masked, maxSecretBytes, openSecrets, secretsIn, type UsedSecrets } from '../secrets.js';
import { type Action, type ActionContext, type ActionParts, done } from './action.js';

type HttpParts = Pick<ActionParts, 'guard' | 'envelope' | 'now' | 'settings'>;

const DEFAULT_TIMEOUT_SECONDS = 15;
/** Maximum bytes of a response that are kept. The rest is not read, because a response may be endless. */
const MAX_RESPONSE_BYTES = 32_768;
const MAX_RESPONSE_HEADERS = 50;
const MAX_HEADER_LENGTH = 1_000;
/** Maximum characters of a response in the message of an error. */
const MAX_ERROR_LENGTH = 300;
/** Longest wait that a `Retry-After` can ask for. */
const MAX_WAIT_MS = 3_600_000;
/** Statuses after which the same request may succeed. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
/** Codes of connection errors where nothing was sent. */
const NOT_SENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
]);

interface OutgoingRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/**
 * Sends a request to an external URL: at least once, with the same `webhook-id` in each attempt, or at most once if
 * `once` is set. Secrets are filled in only here, after a check of the hosts they may be sent to, and are masked in
 * everything that comes back.
 */
export const httpRequest = (parts: HttpParts): Action => ({
  async run(context) {
    const { action, isResumed } = context;
    const once = action.config.once === true;
    if (once && isResumed) {
      throw ActionError.withoutData(
        'unknown_outcome',
        'An earlier attempt was interrupted, and the request is not sent again, because once is set.',
        { isUnknown: true },
      );
    }
    // Throws if the person whose rights the run has lost access.
    await context.options();
    const secrets = openSecrets(parts, context.automation, secretsIn(action.config));
    try {
      const guard = await parts.guard.of(context.run.tenant);
      const request = requestIn(guard, context, secrets);
      const response = await send({ ...parts, guard }, context, request, secrets, once);
      return done(masked(await answerOf(parts, response, secrets, once), secrets));
    } catch (error) {
      if (!(error instanceof ActionError)) throw error;
      const { code, message, retryable, waitMs, isUnknown, publicMessage } = error;
      throw new ActionError(code, String(masked(message, secrets)), { retryable, waitMs, isUnknown, publicMessage });
    }
  },
});

function requestIn(guard: Guard, { action, scope }: ActionContext, secrets: UsedSecrets): OutgoingRequest {
  const { sign_with: _, ...templates } = action.config;
  const config = fillIn(action.type, templates, { ...scope, secrets: secrets.values });
  const url = guard.check(String(config.url));
  for (const { name, allowedHosts } of secrets.used) {
    if (!isAllowedHost(url.hostname, allowedHosts)) {
      throw new ActionError('secret_not_allowed', `The secret ${name} must not be sent to ${url.hostname}.`);
    }
  }
  const method = (config.method ?? 'POST') as OutgoingRequest['method'];
  const headers = Object.fromEntries(
    Object.entries(isObject(config.headers) ? config.headers : {}).map(([name, value]) => [
      name.toLowerCase(),
      headerValue(name, value),
    ]),
  );
  const hasBody = config.body !== undefined && config.body !== null && method !== 'GET';
  const isText = typeof config.body === 'string';
  const body = !hasBody ? undefined : isText ? String(config.body) : JSON.stringify(config.body);
  const type: Record<string, string> =
    body === undefined ? {} : { 'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json' };
  return { url: url.href, method, headers: { ...type, ...headers }, body };
}

function headerValue(name: string, value: unknown): string {
  const text = String(value);
  if (!isHeaderValue(text)) {
    throw new ActionError('invalid_value', `config.headers.${name}: ${NOT_IN_HEADERS}`);
  }
  return text;
}

async function send(
  { guard, now, settings }: Pick<HttpParts, 'now' | 'settings'> & { readonly guard: Guard },
  { action, run, step, signal }: ActionContext,
  { url, method, headers, body }: OutgoingRequest,
  { signing }: UsedSecrets,
  once: boolean,
): Promise<Fetched> {
  const seconds = Number(action.config.timeout_seconds ?? DEFAULT_TIMEOUT_SECONDS);
  const signed = signedHeaders(step.key, now(), body ?? '', signing);
  const { 'webhook-signature': signature, ...rest } = signed;
  const own = { ...rest, ...(signing.length > 0 && { 'webhook-signature': signature }) };
  // An operator may allow calls of this server itself, where an automation could start itself by its webhook.
  const isOwn = new URL(url).hostname === new URL(settings.publicUrl).hostname;
  const chain: Record<string, string> = isOwn ? { [CHAIN_HEADER]: writeChain(chainOf(run)) } : {};
  const all = { 'user-agent': 'Commonplace-Automations/1', ...headers, ...own, ...chain };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]);
  try {
    return await guard.fetch(url, { method, headers: all, body, manual: true, signal: limit });
  } catch (error) {
    if (error instanceof UrlNotAllowed || signal.aborted) throw error;
    throw connectionError(error, limit.aborted ? `no answer in ${seconds} s` : undefined, once);
  }
}

/** Returns the error for a request without a response. The message contains no addresses of the local network. */
function connectionError(error: unknown, why: string | undefined, once: boolean): ActionError {
  const { code } = error as NodeJS.ErrnoException;
  const known = typeof code === 'string' ? code : 'the connection failed';
  const message = `The request got no answer: ${why ?? known}.`;
  if (once && !NOT_SENT.has(known)) return ActionError.withoutData('unknown_outcome', message, { isUnknown: true });
  return ActionError.withoutData('request_failed', message, { retryable: true });
}

async function answerOf({ now }: HttpParts, response: Fetched, secrets: UsedSecrets, once: boolean) {
  const { status } = response;
  const { text, isCut } = await headOf(response, secrets).catch((error: unknown) => {
    throw connectionError(error, 'the connection was cut in the response', once);
  });
  if (status < 200 || status >= 300) {
    const waitMs = Math.min(retryAfterMs(response, now()), MAX_WAIT_MS);
    const shownBody = text === '' ? '' : `: ${String(masked(text, secrets)).slice(0, MAX_ERROR_LENGTH)}`;
    const answered = `The request was answered with ${status}`;
    throw new ActionError('http_error', `${answered}${shownBody}`, {
      publicMessage: `${answered}.`,
      retryable: !once && PASSING.has(status),
      waitMs,
    });
  }
  const headers = shownHeaders(response.headers, secrets);
  return { status, headers, body: bodyOf(text, isCut, response), truncated: isCut };
}

/** Returns a JSON body as data and any other body as text. */
function bodyOf(text: string, isCut: boolean, response: Fetched): unknown {
  if (isCut || !/\bjson\b/.test(headerOf(response, 'content-type') ?? '')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Reads the beginning of a response. If it is truncated, secrets are masked before the cut, so that no part of a secret
 * remains at its end.
 */
async function headOf(response: Fetched, secrets: UsedSecrets): Promise<{ text: string; isCut: boolean }> {
  const most = MAX_RESPONSE_BYTES + maxSecretBytes(secrets);
  const start = await readStart(response, most + 1);
  const text = start.subarray(0, most).toString('utf8').replaceAll('\0', '');
  if (start.length <= MAX_RESPONSE_BYTES) return { text, isCut: false };
  const head = Buffer.from(String(masked(text, secrets))).subarray(0, MAX_RESPONSE_BYTES);
  return { text: head.toString('utf8'), isCut: true };
}

function shownHeaders(headers: Fetched['headers'], secrets: UsedSecrets): Record<string, string> {
  const all = Object.entries(headers).filter(([name]) => name !== 'set-cookie');
  const shown = all.slice(0, MAX_RESPONSE_HEADERS).map(([name, value]) => {
    return [name, String(masked(String(value), secrets)).slice(0, MAX_HEADER_LENGTH)] as const;
  });
  return Object.fromEntries(shown);
}
