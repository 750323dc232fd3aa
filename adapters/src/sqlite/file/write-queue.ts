import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { StorageFull, Unavailable } from '@commonplace/kit/errors';
import { startThread } from '@commonplace/kit/program';
import { nextTurn } from '@commonplace/kit/slices';
import { SlotMap } from '@commonplace/kit/slots';
import { checkParam } from './binding.js';
import { portionsOf } from './portions.js';
import type { Failure, FailureKind, Reply, Request, Step, Unit } from './writer-protocol.js';

/** The main thread's interface to the writer thread. */
export interface WriteQueue {
  /**
   * Commits statements together; resolves when they are durable, with the number of rows that each one changed. Calls
   * `acknowledged` just before, in commit order. Rejects with StepFailed if a step is at fault, UNAVAILABLE if the
   * writer or the disk is, and `storage_full` if the disk is full.
   */
  commit(steps: readonly Step[], acknowledged?: (changes: readonly number[]) => void): Promise<readonly number[]>;
  /**
   * Defers a statement that may be lost in a crash: it is sent with the next commit, or alone after `LAZY_MS`. A later
   * statement with the same key replaces it.
   */
  defer(key: string, step: Step): void;
  /** Commits the deferred statements. */
  flush(): Promise<void>;
  /** False once the writer has died; nothing can be committed then. */
  readonly alive: boolean;
  readonly thread: Worker;
  /** Commits everything that was submitted, then ends the writer. */
  close(): Promise<void>;
}

/** Thrown when a unit had no effect because of one of its steps. */
export class StepFailed extends Error {
  constructor(
    readonly step: number,
    readonly kind: FailureKind,
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = 'StepFailed';
  }
}

const LAZY_MS = 100;
/**
 * Number of units that are sent to the writer before the event loop's turn is over. When many requests run in one turn,
 * as they do after a commit that has acknowledged several at once, the writer would otherwise wait for the last of
 * them, and all of them for the writer.
 */
const SENT_EARLY = 8;

interface Waiting {
  resolve(changes: readonly number[]): void;
  reject(error: Error): void;
  readonly acknowledged: ((changes: readonly number[]) => void) | undefined;
}

/** Starts the writer of a file, and resolves once it has opened the file. */
export async function openWriteQueue(file: string, onDeath: (cause: unknown) => void): Promise<WriteQueue> {
  const thread = startThread(new URL('./writer.js', import.meta.url), {
    workerData: { file },
    name: 'store-writer',
  });
  const [reply] = (await once(thread, 'message')) as [Reply];
  if ('ready' in reply && !reply.ready) throw new Error(`${file} can't be opened: ${reply.message}`);
  return createWriteQueue(thread, onDeath);
}

function createWriteQueue(thread: Worker, onDeath: (cause: unknown) => void): WriteQueue {
  const waiting = new SlotMap<Waiting>();
  const deferred = new Map<string, Step>();
  let units: Unit[] = [];
  /** The large units that are being sent. */
  const large = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let state: 'open' | 'closing' | 'dead' = 'open';
  let cause: unknown;

  /** Sends the units of one turn of the event loop in as few messages as possible. */
  function send(): void {
    if (units.length === 0 || state === 'dead') return;
    if (deferred.size > 0) units.push([0, [...deferred.values()]]);
    deferred.clear();
    thread.postMessage({ units } satisfies Request);
    units = [];
  }

  function submit(number: number, steps: readonly Step[]): void {
    if (units.length === 0) setImmediate(send);
    units.push([number, steps]);
    if (units.length === SENT_EARLY) send();
  }

  /** Sends a large unit to the writer portion by portion, each in a turn of the event loop of its own. */
  async function submitLarge(number: number, portions: readonly (readonly Step[])[]): Promise<void> {
    try {
      for (const [i, steps] of portions.entries()) {
        await nextTurn();
        if (state === 'dead') return;
        checkSteps(steps);
        if (i === portions.length - 1) submit(number, steps);
        else thread.postMessage({ units: [], part: [number, steps] } satisfies Request);
      }
    } catch (error) {
      thread.postMessage({ units: [], part: [number, undefined] } satisfies Request);
      waiting.take(number)?.reject(error as Error);
      if (waiting.size === 0) thread.unref();
    }
  }

  function put(entry: Waiting): number {
    if (waiting.size === 0) thread.ref();
    return waiting.put(entry);
  }

  function die(reason: unknown): void {
    if (state === 'dead') return;
    const unexpected = state === 'open';
    state = 'dead';
    cause = reason;
    clearTimeout(timer);
    for (const { reject } of waiting.takeAll()) reject(Unavailable({}, { cause }));
    if (unexpected) onDeath(reason);
  }

  thread.on('message', (reply: Reply) => {
    if ('ready' in reply) return;
    for (const [number, changes] of reply.done) {
      const entry = waiting.take(number);
      entry?.acknowledged?.(changes);
      entry?.resolve(changes);
    }
    for (const failure of reply.failed) waiting.take(failure[0])?.reject(errorOf(failure));
    if (waiting.size === 0) thread.unref();
  });
  thread.on('error', die);
  thread.on('exit', (code) => die(new Error(`the writer ended with code ${code}`)));
  thread.unref();

  const queue: WriteQueue = {
    thread,
    get alive() {
      return state === 'open';
    },
    commit(steps, acknowledged) {
      if (state !== 'open') return Promise.reject(Unavailable({}, { cause }));
      return new Promise((resolve, reject) => {
        const portions = portionsOf(steps, charsOf);
        const entry = { resolve, reject, acknowledged };
        if (portions.length === 1) {
          checkSteps(steps);
          submit(put(entry), steps);
          return;
        }
        const sent = submitLarge(put(entry), portions).finally(() => large.delete(sent));
        large.add(sent);
      });
    },
    defer(key, step) {
      deferred.set(key, step);
      timer ??= setTimeout(() => {
        timer = undefined;
        // A deferred statement may be lost; the death of the writer is reported elsewhere.
        queue.flush().catch(() => {});
      }, LAZY_MS).unref();
    },
    async flush() {
      if (deferred.size === 0) return;
      const steps = [...deferred.values()];
      deferred.clear();
      await queue.commit(steps);
    },
    async close() {
      if (state !== 'open') return;
      clearTimeout(timer);
      const flushed = queue.flush();
      state = 'closing';
      await Promise.all(large);
      const ended = once(thread, 'exit');
      send();
      thread.ref();
      thread.postMessage({ units: [], close: true } satisfies Request);
      await Promise.allSettled([flushed, ended]);
    },
  };
  return queue;
}

function charsOf([, params]: Step): number {
  let chars = 0;
  for (const param of params) {
    if (typeof param === 'string') chars += param.length;
    else if (Array.isArray(param)) for (const piece of param) chars += piece.length;
  }
  return chars;
}

/** Throws if a parameter cannot be stored. Pieces are those of JSON, which never has what is refused. */
function checkSteps(steps: readonly Step[]): void {
  for (const [, params] of steps) for (const param of params) if (!Array.isArray(param)) checkParam(param);
}

function errorOf([, step, kind, code, message]: Failure): Error {
  const failed = new StepFailed(step, kind, code, message);
  if (kind !== 'unavailable') return failed;
  return code === 'SQLITE_FULL' ? StorageFull({ cause: failed }) : Unavailable({}, { cause: failed });
}
