import { NOT_CALLED } from '@commonplace/kit/fetch';
import { EmbedderFailure } from '../port.js';

/** Returns whether a status of the endpoint may be transient; others mean a wrong key, model or request. */
const isPassing = (status: number): boolean => status === 408 || status === 409 || status === 429 || status >= 500;

/** Converts the error of a request to a failure. Its message contains nothing of what was sent. */
export function failureOf(cause: unknown): EmbedderFailure {
  if (cause instanceof EmbedderFailure) return cause;
  const { status, code, error } = cause as { status?: unknown; code?: unknown; error?: unknown };
  if (code === NOT_CALLED) {
    const { message } = error as { message: string };
    return new EmbedderFailure(`the embeddings endpoint must not be called: ${message}`, false, { cause });
  }
  if (typeof status === 'number') {
    const about = typeof code === 'string' ? ` (${code.slice(0, 100)})` : '';
    return new EmbedderFailure(`the embeddings endpoint answers ${status}${about}`, isPassing(status), { cause });
  }
  return new EmbedderFailure('the embeddings endpoint cannot be reached', true, { cause });
}
