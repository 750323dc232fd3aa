import { nextTurn } from '../slices/index.js';

/** Milliseconds for which answers of threads are passed on in a row. */
const MAX_ROW_MS = 5;

let rowSince: number | undefined;

/**
 * Passes on an answer of a thread: at once, or in a later turn of the event loop if answers before it have taken long. Node
 * handles up to 1,000 messages of a thread in a row, also those that come meanwhile: threads that answer a question while
 * the answer to the one before is worked on would block the event loop until nobody asks them any more.
 */
export function passOn(answer: () => void): void {
  const now = performance.now();
  if (rowSince === undefined) {
    rowSince = now;
    setImmediate(() => {
      rowSince = undefined;
    });
  }
  if (now - rowSince < MAX_ROW_MS) answer();
  else void nextTurn().then(answer);
}
