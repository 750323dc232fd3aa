import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentialHeaders, type Session } from '@commonplace/acceptance/dist/src/client.js';
import type { Conversation } from './conversation.js';

/** The answers that all writers have got so far. */
export interface Written {
  /** The `seq` of each message by its text. */
  readonly seqs: Map<string, number>;
  retries: number;
  /** Number of retries that were answered with the message sent before. */
  repeated: number;
}

/**
 * Statuses after which the same request is sent again, because the system or a server behind it is temporarily away.
 */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const GIVE_UP_MS = 180_000;

/**
 * Sends messages one after another. Repeats each until it is answered, with the same `client_message_id`, so that it is
 * sent once. Throws for an answer that retrying can't change.
 */
export async function writeMessages(
  conversation: Conversation,
  session: Session,
  texts: readonly string[],
  written: Written,
): Promise<void> {
  for (const text of texts) written.seqs.set(text, await sendOnce(conversation, session, text, written));
}

async function sendOnce(
  { system, id }: Conversation,
  session: Session,
  text: string,
  written: Written,
): Promise<number> {
  const until = performance.now() + GIVE_UP_MS;
  const headers = { ...credentialHeaders(session, 'POST'), 'content-type': 'application/json' };
  const body = JSON.stringify({ text, client_message_id: text });
  for (;;) {
    const answer = await post(`${system.baseUrl()}/api/v1/im/conversations/${id}/messages`, headers, body);
    if (answer !== undefined && answer.status < 300) {
      if (answer.status === 200) written.repeated++;
      return (JSON.parse(answer.text) as { data: { seq: number } }).data.seq;
    }
    const isPassing = answer === undefined || PASSING.has(answer.status);
    if (!isPassing || performance.now() > until) {
      throw new Error(`A message is answered with ${answer?.status ?? 'nothing'}: ${answer?.text.slice(0, 500)}`);
    }
    written.retries++;
    await sleep((answer?.retryAfterMs ?? 0) + randomInt(50, 250));
  }
}

/** Returns the answer; undefined if the connection was cut before it arrived. */
async function post(url: string, headers: Record<string, string>, body: string) {
  try {
    const response = await fetch(url, { method: 'POST', headers, body });
    const retryAfterMs = Number(response.headers.get('retry-after') ?? 0) * 1000;
    return { status: response.status, text: await response.text(), retryAfterMs };
  } catch {
    return undefined;
  }
}
