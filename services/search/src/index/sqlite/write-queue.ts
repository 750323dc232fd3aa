import type { Engine } from './engine.js';
import { type Change, idOf } from './write.js';

type Done = (error?: unknown) => void;

/** A call, which is answered when all of its changes are durable. */
interface Call {
  left: number;
  error?: unknown;
  readonly done: Done;
}

interface PendingChange {
  readonly change: Change;
  readonly call: Call;
}

interface WriteQueue {
  push(changes: readonly Change[], done: Done): void;
  /** Calls `work` when all earlier writes are done. */
  after(work: () => void): void;
}

/** Limits of a group of writes, after which waiting searches are answered: some 10 ms of work. */
const MAX_SLICE_CHANGES = 100;
const MAX_SLICE_CHARS = 400_000;

/** Commits writes in small groups and in order; searches are answered between two groups. */
export function createWriteQueue(engine: Engine): WriteQueue {
  const queue: (PendingChange | (() => void))[] = [];
  let scheduled = false;

  function schedule(): void {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      const [first] = queue;
      if (typeof first === 'function') {
        queue.shift();
        first();
      } else writeSlice(engine, takeSlice(queue));
      schedule();
    });
  }

  return {
    push(changes, done) {
      if (changes.length === 0) return done();
      const call = { left: changes.length, done };
      for (const change of changes) queue.push({ change, call });
      schedule();
    },
    after(work) {
      queue.push(work);
      schedule();
    },
  };
}

/** Takes the next changes from the queue, all of different entries. */
function takeSlice(queue: (PendingChange | (() => void))[]): PendingChange[] {
  const slice: PendingChange[] = [];
  const ids = new Set<string>();
  let text = 0;
  for (const waiting of queue) {
    if (typeof waiting === 'function' || slice.length === MAX_SLICE_CHANGES || text > MAX_SLICE_CHARS) break;
    const { change } = waiting;
    if (ids.has(idOf(change))) break;
    ids.add(idOf(change));
    if ('upsert' in change) text += change.upsert.text.length;
    slice.push(waiting);
  }
  queue.splice(0, slice.length);
  return slice;
}

/** Commits changes together; if that fails, one by one, so that only the faulty one fails. */
function writeSlice(engine: Engine, slice: readonly PendingChange[]): void {
  try {
    engine.change(slice.map(({ change }) => change));
  } catch (error) {
    const [only] = slice;
    if (slice.length > 1) {
      for (const waiting of slice) writeSlice(engine, [waiting]);
      return;
    }
    if (only !== undefined) only.call.error = error;
  }
  for (const { call } of slice) {
    call.left--;
    if (call.left === 0) call.done(call.error);
  }
}
