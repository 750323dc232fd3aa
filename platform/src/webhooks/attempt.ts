import { type Fetched, type Guard, readStart, retryAfterMs, UrlNotAllowed } from '@commonplace/kit/fetch';
import type { Attempt, Delivery } from './records.js';
import { signedHeaders } from './sign.js';

/** Timeout in milliseconds for a response. */
export const ATTEMPT_MS = 15_000;
/** Number of bytes of a response's body that are stored. */
const HEAD_BYTES = 1024;
const GONE = 410;

/** Destination of deliveries; the newest secret comes first. */
export interface Target {
  readonly url: string;
  readonly secrets: readonly string[];
}

export interface Outcome {
  readonly attempt: Attempt;
  readonly succeeded: boolean;
  /** Whether the target asks for no further deliveries, permanently. */
  readonly gone: boolean;
  /** Milliseconds for which the target asked not to be called. */
  readonly retryAfterMs: number;
}

/** Sends a delivery once. Every failure is reported as an outcome. `now` returns milliseconds since 1970. */
export async function attempt(
  guard: Guard,
  { url, secrets }: Target,
  { eventId, body }: Delivery,
  now: () => number,
): Promise<Outcome> {
  const at = now();
  const began = performance.now();
  const about = () => ({ at: new Date(at).toISOString(), durationMs: Math.round(performance.now() - began) });
  const signal = AbortSignal.timeout(ATTEMPT_MS);
  const headers = { 'content-type': 'application/json', 'user-agent': 'Commonplace-Webhooks/1' };
  try {
    const signed = { ...headers, ...signedHeaders(eventId, at, body, secrets) };
    const answer = await guard.fetch(url, { method: 'POST', headers: signed, body, manual: true, signal });
    const head = await headOf(answer);
    const { status } = answer;
    return {
      attempt: { ...about(), status, ...(head !== '' && { head }) },
      succeeded: status >= 200 && status < 300,
      gone: status === GONE,
      retryAfterMs: retryAfterMs(answer, now()),
    };
  } catch (error) {
    const failed = { ...about(), error: signal.aborted ? 'no answer in time' : reasonOf(error) };
    return { attempt: failed, succeeded: false, gone: false, retryAfterMs: 0 };
  }
}

/** Returns the beginning of a response's body as text that every store can keep. */
async function headOf(answer: Fetched): Promise<string> {
  const head = (await readStart(answer, HEAD_BYTES)).subarray(0, HEAD_BYTES);
  return head.toString('utf8').replaceAll('\0', '');
}

/** Returns a description of an error that contains no address of the local network. */
function reasonOf(error: unknown): string {
  if (error instanceof UrlNotAllowed) return `url_not_allowed: ${error.message}`;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : 'the connection failed';
}
