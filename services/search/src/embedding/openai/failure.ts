import { EmbedderFailure } from '../port.js';
import { NOT_CALLED } from './guarded-fetch.js';

/** Statuses of an endpoint that may be better the next time; others tell of a wrong key, model or request. */
const isPassing = (status: number): boolean => status === 408 || status === 409 || status === 429 || status >= 500;

/** What went wrong with a request, as a failure. Its message has no part of what was sent. */
export function failureOf(cause: unknown): EmbedderFailure {
  if (cause instanceof EmbedderFailure) return cause;
  const { status, code, error } = cause as { status?: unknown; code?: unknown; error?: unknown };
  if (code === NOT_CALLED) {
    const { message } = error as { message: string };
    return new EmbedderFailure(`the embeddings endpoint is not called: ${message}`, false, { cause });
  }
  if (typeof status === 'number') {
    const about = typeof code === 'string' ? ` (${code.slice(0, 100)})` : '';
    return new EmbedderFailure(`the embeddings endpoint answers ${status}${about}`, isPassing(status), { cause });
  }
  return new EmbedderFailure('the embeddings endpoint is not reached', true, { cause });
}
