import { invalidField } from '@commonplace/kit/errors';
import {
  createWorkerPool,
  failuresOfBounded,
  resultOf,
  startTaskThread,
  type TaskAnswer,
} from '@commonplace/kit/workers';
import type { ReadSkillMd } from '../domain/skill-md.js';

/** Milliseconds that the `SKILL.md` files of one request may take. In normal use 50 of them take less than 50. */
const READ_MS = 10_000;
const HEAP_MIB = 128;
const IDLE_MS = 60_000;
/** Requests of one tenant that may wait. */
const MAX_WAITING = 20;

/** Parses the `SKILL.md` files of requests. */
export interface SkillFiles {
  /**
   * Returns in order what each text is. Tenants share the thread fairly. Throws `invalid_value` for texts that take too
   * long together.
   */
  read(tenant: string, texts: readonly string[]): Promise<readonly ReadSkillMd[]>;
  close(): Promise<void>;
}

/** Opens the reader, with the milliseconds that one request may take. Its thread starts with the first that needs it. */
export function openSkillFiles(readMs = READ_MS): SkillFiles {
  const entry = new URL('./thread.js', import.meta.url);
  const tooLong = 'The front matter of these skills takes too long to be read.';
  const failures = failuresOfBounded(() => invalidField('skills', 'invalid_value', tooLong));
  const pool = createWorkerPool<readonly string[], TaskAnswer>({
    name: 'agents.skills',
    size: 1,
    maxWaitingPerTenant: MAX_WAITING,
    start: () => startTaskThread({ entry, name: 'skills', heapMiB: HEAP_MIB, failures }),
    idleMs: IDLE_MS,
    closed: failures.closed,
  });
  return {
    read: async (tenant, texts) => resultOf(await pool.do(tenant, texts, readMs)) as readonly ReadSkillMd[],
    close: () => pool.close(),
  };
}
