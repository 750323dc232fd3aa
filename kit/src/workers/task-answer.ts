import { AppError, type Code } from '../errors/index.js';

/** An error for clients, as plain values that can be passed between threads or processes. */
interface PlainError extends Partial<Pick<AppError, 'param' | 'retryAfter'>> {
  readonly code: Code;
  readonly reason: string;
  readonly message: string;
  readonly details: AppError['details'];
  readonly faults: AppError['faults'];
}

/** The answer of a worker to a task. */
export type TaskAnswer = { readonly value: unknown } | { readonly error: PlainError | { readonly message: string } };

/** Performs a task in a worker; an error becomes part of the answer. */
export async function answerTask(perform: () => unknown): Promise<TaskAnswer> {
  try {
    return { value: await perform() };
  } catch (error) {
    return { error: plainError(error) };
  }
}

/** Returns the value of an answer, or throws its error: an AppError as it was, any other with its stack. */
export function resultOf(answer: TaskAnswer): unknown {
  if ('value' in answer) return answer.value;
  const { error } = answer;
  if (!('reason' in error)) throw new Error(error.message);
  const { code, reason, message, ...options } = error;
  throw new AppError(code, reason, message, options);
}

function plainError(error: unknown): PlainError | { message: string } {
  if (!(error instanceof AppError)) return { message: error instanceof Error ? (error.stack ?? '') : String(error) };
  const { code, reason, message, details, faults, param, retryAfter } = error;
  return {
    code,
    reason,
    message,
    details,
    faults,
    ...(param !== undefined && { param }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
}

/** Size in bytes from which a buffer is transferred to another thread instead of copied. */
const TRANSFERRED_BYTES = 16 * 1024;

/**
 * Returns the memory of large byte arrays in a message, for the transfer list of `postMessage`: sending them then costs
 * nothing, and they are empty on this side afterwards. An array that shares its memory with others is copied.
 */
export function transferablesIn(message: unknown, found: ArrayBuffer[] = []): ArrayBuffer[] {
  if (message instanceof Uint8Array) {
    const { buffer, byteLength } = message;
    const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
    if (isAlone && byteLength >= TRANSFERRED_BYTES && !found.includes(buffer)) found.push(buffer);
  } else if (typeof message === 'object' && message !== null) {
    for (const value of Object.values(message)) if (typeof value === 'object') transferablesIn(value, found);
  }
  return found;
}

/** Replaces byte arrays in a message by Buffers after it was passed between threads; changes the message in place. */
export function withBuffers<T>(message: T): T {
  if (message instanceof Uint8Array) {
    return Buffer.from(message.buffer, message.byteOffset, message.byteLength) as unknown as T;
  }
  if (typeof message !== 'object' || message === null) return message;
  const fields = message as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (typeof value === 'object' && value !== null) fields[name] = withBuffers(value);
  }
  return message;
}
