import type { Worker } from 'node:worker_threads';
import { startThread } from '@commonplace/kit/program';
import { SlotMap } from '@commonplace/kit/slots';
import { IndexFailure } from '../port.js';
import type { Reply, Task, ThreadData } from './protocol.js';

/** A thread that runs tasks; after a crash the next task starts it again. */
interface IndexThread {
  /** Runs a task. Rejects with `IndexFailure`. */
  do(task: Task): Promise<unknown>;
  close(): Promise<void>;
}

interface PendingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** MiB of the young generation: texts are written in groups and live no longer than that. */
const YOUNG_MIB = 12;

/** Creates the thread that owns an index file; it starts with the first task. */
export function openIndexThread(data: ThreadData): IndexThread {
  const waiting = new SlotMap<PendingCall>();
  let worker: Worker | undefined;
  let closed = false;

  function start(): Worker {
    const started = startThread(new URL('./worker.js', import.meta.url), {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    started.on('message', (reply: Reply) => {
      const call = waiting.take(reply.id);
      if ('error' in reply) call?.reject(new IndexFailure(reply.error));
      else call?.resolve(reply.value);
      if (waiting.size === 0) started.unref();
    });
    let cause: unknown;
    started.on('error', (error) => {
      cause = error;
    });
    started.on('exit', () => {
      if (worker === started) worker = undefined;
      for (const { reject } of waiting.takeAll()) {
        reject(new IndexFailure('the index thread ended', { cause }));
      }
    });
    return started;
  }

  function send(task: Task): Promise<unknown> {
    worker ??= start();
    const to = worker;
    // Only pending tasks keep the process running.
    to.ref();
    return new Promise((resolve, reject) => to.postMessage({ id: waiting.put({ resolve, reject }), task }));
  }

  return {
    do: (task) => (closed ? Promise.reject(new IndexFailure('the index is closed')) : send(task)),
    async close() {
      if (closed) return;
      closed = true;
      if (worker === undefined) return;
      await send({ kind: 'close' });
      await worker?.terminate();
    },
  };
}
