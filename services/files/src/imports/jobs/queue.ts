import type { ImportParts } from '../parts.js';
import type { ImportRecord } from '../stores/records.js';

/** Waiting imports of one tenant that are considered. */
const MAX_CONSIDERED = 50;

/**
 * Returns the next import to run: that of the tenant with the fewest running imports, and of that tenant the longest
 * waiting one whose workspace is below its limit of running imports. `taken` are the imports that this process runs or
 * is about to run; one tenant may use all of its workers but one.
 */
export async function nextQueued(
  { imports, settings }: Pick<ImportParts, 'imports' | 'settings'>,
  taken: readonly string[],
): Promise<ImportRecord | undefined> {
  const waiting = await imports.countBy('tenant', { status: 'queued' });
  if (waiting.size === 0) return undefined;
  const busy = await imports.countBy('tenant', { status: 'running' });
  const mine = await imports.getMany(taken);
  const starting = mine.filter(({ status }) => status === 'queued');
  for (const { tenant } of starting) busy.set(tenant, (busy.get(tenant) ?? 0) + 1);
  const load = (tenant: string) => busy.get(tenant) ?? 0;
  const heads: ImportRecord[] = [];
  for (const tenant of waiting.keys()) {
    // Each tenant leaves one worker of this process to the others.
    const maxConcurrent = Math.max(1, settings.importWorkers - 1);
    if (mine.filter((one) => one.tenant === tenant).length >= maxConcurrent) continue;
    const where = { status: 'queued', tenant } as const;
    const queued = await imports.find({ where, sort: ['queuedAt'], limit: MAX_CONSIDERED });
    for (const record of queued) {
      if (taken.includes(record.id)) continue;
      const { workspaceId } = record;
      const running = await imports.count({ workspaceId, status: 'running' }, settings.importsRunning);
      const about = starting.filter((one) => one.workspaceId === workspaceId).length;
      if (running + about >= settings.importsRunning) continue;
      heads.push(record);
      break;
    }
  }
  return heads.sort((a, b) => load(a.tenant) - load(b.tenant) || (a.queuedAt < b.queuedAt ? -1 : 1))[0];
}
