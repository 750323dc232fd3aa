import { parentPort } from 'node:worker_threads';
import { AppError } from '@commonplace/kit/errors';
import { derivation } from './derivation.js';
import { type Answer, type PlainError, type Task, withBuffers } from './deriver-protocol.js';

/** The thread that reads long documents, one after another. */
const port = parentPort;
if (port === null) throw new Error('not a thread of its own');

function answer({ id, name, args }: Task): Answer {
  try {
    const derive = derivation[name] as (...given: unknown[]) => unknown;
    return { id, value: derive(...args.map(withBuffers)) };
  } catch (error) {
    return { id, error: plain(error) };
  }
}

function plain(error: unknown): PlainError | { message: string } {
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

port.on('message', (task: Task) => port.postMessage(answer(task)));
