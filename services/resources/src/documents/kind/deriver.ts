import { createThreadPool } from '@commonplace/kit/workers';
import type { Settings } from '../../config.js';
import { DocumentTooComplex } from '../../errors.js';
import { limitMet, RESERVED_MS } from '../../time-limits.js';
import { type Derivation, derivation } from './derivation.js';
import type { PatternCheck, PatternVerdict, Task } from './deriver-protocol.js';
import { withBuffers } from './deriver-protocol.js';

/** Maximum bytes of text that are parsed on the calling thread. The worst input takes some 20 µs a byte to parse. */
export const MAX_BYTES_AT_ONCE = 512;

/** Heap limit of one thread in MiB; a document that needs more is refused as too complex. */
const HEAP_MIB = 384;

type DeriverSettings = Pick<Settings, 'documentThreads' | 'documentSeconds' | 'documentsWaiting'>;

/** The tenant that a document is parsed for, and the deadline of its request; a tenant alone where no request waits. */
export type Requester = string | { readonly tenant: string; readonly deadline: number };

export interface Deriver {
  /**
   * Runs one derivation: on the calling thread for up to `MAX_BYTES_AT_ONCE` of text in total, otherwise in a worker
   * thread. Throws the error of the derivation, or rejects with it; rejects with `document_too_complex` after its
   * deadline.
   */
  run<N extends keyof Derivation>(
    requester: Requester,
    bytes: number,
    name: N,
    ...args: Parameters<Derivation[N]>
  ): ReturnType<Derivation[N]> | Promise<ReturnType<Derivation[N]>>;
  /** Matches texts against patterns. Returns undefined if that takes longer than its time limit. */
  matchPatterns(tenant: string, checks: readonly PatternCheck[]): Promise<readonly PatternVerdict[] | undefined>;
  /** Returns for each pattern why it cannot be used; undefined for a pattern that can. */
  findPatternFaults(tenant: string, patterns: readonly string[]): Promise<readonly (string | undefined)[]>;
  close(): Promise<void>;
}

/** Reports that a task took longer than its timeout, or more memory than a thread has. */
class BeyondBounds extends Error {
  constructor(
    cause: unknown,
    /** The timeout in milliseconds, if the task exceeded it. */
    readonly timeoutMs?: number,
  ) {
    super('beyond the bounds of a thread', { cause });
  }
}

/** Opens the worker threads that parse documents and match patterns; tenants share them fairly. */
export function openDeriver({ documentThreads, documentSeconds, documentsWaiting }: DeriverSettings): Deriver {
  const pool = createThreadPool<Task, unknown>({
    name: 'resources.documents',
    entry: new URL('./deriver-thread.js', import.meta.url),
    heapMiB: HEAP_MIB,
    size: documentThreads,
    maxWaitingPerTenant: documentsWaiting,
    keepsSpare: true,
    beyond: (cause, timeoutMs) => new BeyondBounds(cause, timeoutMs),
  });

  const ownLimit = { limit_seconds: documentSeconds, setting: 'COMMONPLACE_DOCUMENT_SECONDS' };

  async function send(tenant: string, task: Task, timeoutMs: number, until?: number): Promise<unknown> {
    return withBuffers(await pool.do(tenant, task, timeoutMs, until));
  }

  async function derive(requester: Requester, task: Task): Promise<unknown> {
    const { tenant, deadline } = typeof requester === 'string' ? { tenant: requester, deadline: undefined } : requester;
    try {
      const until = deadline === undefined ? undefined : deadline - RESERVED_MS;
      return await send(tenant, task, documentSeconds * 1000, until);
    } catch (error) {
      if (!(error instanceof BeyondBounds)) throw error;
      const limit = limitMet(ownLimit, error.timeoutMs ?? documentSeconds * 1000);
      throw DocumentTooComplex({ ...limit, seconds: limit.limit_seconds }, { cause: error });
    }
  }

  return {
    run<N extends keyof Derivation>(requester: Requester, bytes: number, name: N, ...args: Parameters<Derivation[N]>) {
      if (bytes > MAX_BYTES_AT_ONCE) return derive(requester, { name, args }) as Promise<ReturnType<Derivation[N]>>;
      const derivationOf = derivation[name] as (...given: Parameters<Derivation[N]>) => ReturnType<Derivation[N]>;
      return derivationOf(...args);
    },
    async matchPatterns(tenant, patterns) {
      try {
        return (await send(tenant, { patterns }, PATTERNS_TIMEOUT_MS)) as PatternVerdict[];
      } catch (error) {
        if (error instanceof BeyondBounds) return undefined;
        throw error;
      }
    },
    async findPatternFaults(tenant, expressible) {
      try {
        return (await send(tenant, { expressible }, PATTERNS_TIMEOUT_MS)) as (string | undefined)[];
      } catch (error) {
        if (!(error instanceof BeyondBounds)) throw error;
        return expressible.map(() => 'belongs to a form whose patterns take too long to compile together.');
      }
    },
    close: () => pool.close(),
  };
}

/** Milliseconds for all patterns of one form or submission together, including the start of a thread. */
const PATTERNS_TIMEOUT_MS = 5000;
