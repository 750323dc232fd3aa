import { MediaFailure, type MediaReason } from '../../media/index.js';
import { ImportFault } from '../sources/port.js';

/** An error as plain values; `id` identifies it on the side that threw it first. */
export type EncodedError =
  | { readonly back: number }
  | { readonly id: number; readonly message: string; readonly fault: { code: string; retryable: boolean } }
  | { readonly id: number; readonly message: string; readonly media: MediaReason }
  | { readonly id: number; readonly message: string };

/** Errors that are kept because they may come back. */
const REMEMBERED = 100;

/**
 * Transfers errors across a thread boundary. An error that was thrown on this side and comes back from the other side
 * is the same object again, so that its type and cause are kept.
 */
export function createErrorCodec() {
  const thrown = new Map<number, unknown>();
  const foreign = new WeakMap<object, number>();
  let count = 0;

  function remember(error: unknown): number {
    thrown.set(++count, error);
    thrown.delete(count - REMEMBERED);
    return count;
  }

  return {
    encode(error: unknown): EncodedError {
      const back = foreign.get(error as object);
      if (back !== undefined) return { back };
      const id = remember(error);
      if (error instanceof ImportFault) {
        return { id, message: error.message, fault: { code: error.code, retryable: error.retryable } };
      }
      if (error instanceof MediaFailure) return { id, message: error.message, media: error.reason };
      return { id, message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    },
    decode(encoded: EncodedError): unknown {
      if ('back' in encoded) return thrown.get(encoded.back) ?? new Error('the original error is no longer known');
      const error = decoded(encoded);
      foreign.set(error, encoded.id);
      return error;
    },
  };
}

function decoded(encoded: Exclude<EncodedError, { back: number }>): Error {
  const { message } = encoded;
  if ('fault' in encoded) return new ImportFault(encoded.fault.code, message, encoded.fault.retryable);
  return 'media' in encoded ? new MediaFailure(encoded.media, message) : new Error(message);
}
