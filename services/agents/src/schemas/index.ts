import { createThreadPool } from '@commonplace/kit/workers';
import { type Checked, checkWithin, type JsonSchema, TOO_LONG } from '../domain/schema-check.js';

/** Milliseconds that a check may take on the calling thread. Nearly all take less than one. */
const AT_ONCE_MS = 5;
/** Milliseconds that an attempt may take in the thread, and two of them with the start of that thread. */
const CHECK_MS = 250;
const TASK_MS = 10_000;
const HEAP_MIB = 128;
/** Checks of one tenant that may wait. Runs make one at a time. */
const MAX_WAITING = 100;

/** A value to be checked in a thread. */
export interface CheckTask {
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly ms: number;
}

/** Checks what models, people and servers have sent against schemas of users and servers. */
export interface SchemaChecks {
  /** Returns the faults of a JSON value under a schema; undefined if there are none. Tenants share the thread fairly. */
  faultIn(tenant: string, schema: JsonSchema, value: unknown): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Opens the checks. A thread is started for the first one that takes long: a regular expression can take for ever. */
export function openSchemaChecks(): SchemaChecks {
  const pool = createThreadPool<CheckTask, Checked>({
    name: 'agents.schemas',
    entry: new URL('./thread.js', import.meta.url),
    heapMiB: HEAP_MIB,
    maxWaitingPerTenant: MAX_WAITING,
    beyond: (cause) => new Beyond('beyond the bounds of a check', { cause }),
  });

  async function inThread(tenant: string, schema: JsonSchema, value: unknown): Promise<Checked> {
    try {
      return await pool.do(tenant, { schema, value, ms: CHECK_MS }, TASK_MS);
    } catch (error) {
      if (error instanceof Beyond) return 'late';
      throw error;
    }
  }

  return {
    async faultIn(tenant, schema, value) {
      const first = checkWithin(AT_ONCE_MS, schema, value);
      const checked = first === 'late' ? await inThread(tenant, schema, value) : first;
      return checked === 'late' ? TOO_LONG : checked.fault;
    },
    close: () => pool.close(),
  };
}

class Beyond extends Error {}
