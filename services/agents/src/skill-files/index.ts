import { invalidField } from '@commonplace/kit/errors';
import { createThreadPool } from '@commonplace/kit/workers';
import type { ReadSkillMd } from '../domain/skill-md.js';

/** Milliseconds that the `SKILL.md` files of one request may take. In normal use 50 of them take less than 50. */
const READ_MS = 10_000;
const HEAP_MIB = 128;
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
  const tooLong = 'The front matter of these skills takes too long to be read.';
  const pool = createThreadPool<readonly string[], readonly ReadSkillMd[]>({
    name: 'agents.skills',
    entry: new URL('./thread.js', import.meta.url),
    heapMiB: HEAP_MIB,
    maxWaitingPerTenant: MAX_WAITING,
    beyond: () => invalidField('skills', 'invalid_value', tooLong),
  });
  return { read: (tenant, texts) => pool.do(tenant, texts, readMs), close: () => pool.close() };
}
