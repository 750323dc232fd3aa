import type { IncomingMessage } from 'node:http';
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';
import type { ReceivedCall } from './answers.js';
import { isRefusal, readRequest } from './request.js';
import { failures, type ScriptedReply } from './script.js';

export interface ChatServerOptions {
  /** Key that requests must have; none when absent. */
  readonly key?: string;
  /** Names of models; any when absent. */
  readonly models?: readonly string[];
  /** Maximum number of tokens of a prompt; a longer one is refused. */
  readonly contextTokens?: number;
  /** Parameters that this server refuses as unsupported. */
  readonly refuses?: readonly string[];
  /** Called at each stage of a call: before its answer begins, after each token, and after its end. */
  readonly onProgress?: (call: ReceivedCall, progress: 'called' | 'token' | 'answered') => void;
  /** Replies to a request in place of scripts; undefined leaves it to those. */
  readonly replyTo?: (request: ChatCompletionCreateParams) => ScriptedReply | undefined;
  /** 0 for any free port. */
  readonly port?: number;
}

export interface Admitted {
  readonly request: ChatCompletionCreateParams;
  readonly inputTokens: number;
}

const PATH = '/v1/chat/completions';
/** Bytes of a prompt that count as one token. */
const BYTES_PER_TOKEN = 4;

/** Checks a request as the vendor does. Returns the error that answers it if it is refused. */
export function admit(
  { key, models, contextTokens = Number.POSITIVE_INFINITY, refuses = [] }: ChatServerOptions,
  { method, url, headers }: IncomingMessage,
  body: string,
): Admitted | ScriptedReply {
  if (method !== 'POST' || url !== PATH) return refusal(404, `Invalid URL (${method} ${url})`);
  if (headers.authorization !== (key === undefined ? undefined : `Bearer ${key}`)) return failures.wrongKey();
  const read = readRequest(body);
  if (isRefusal(read)) return { status: 400, error: read };
  const refused = refuses.find((name) => name in read);
  if (refused !== undefined) {
    const message = `Unsupported parameter: '${refused}' is not supported with this model.`;
    return refusal(400, message, { param: refused, code: 'unsupported_parameter' });
  }
  if (models !== undefined && !models.includes(read.model)) {
    return refusal(404, `The model \`${read.model}\` does not exist.`, { code: 'model_not_found' });
  }
  const inputTokens = Math.ceil(Buffer.byteLength(JSON.stringify(read.messages)) / BYTES_PER_TOKEN);
  return inputTokens > contextTokens ? failures.contextTooLong() : { request: read, inputTokens };
}

function refusal(status: number, message: string, more: { param?: string; code?: string } = {}): ScriptedReply {
  return { status, error: { message, ...more } };
}
