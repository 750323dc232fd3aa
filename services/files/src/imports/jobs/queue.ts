import type { ImportParts } from '../parts.js';
import type { ImportRecord } from '../stores/records.js';

/** Waiting imports of one tenant that are looked at. */
const LOOKED_AT = 50;

/**
 * The import whose turn it is: of the tenant with the fewest that run, the one that waits longest of those whose
 * workspace may run one more. `taken` are about to run.
 */
export async function nextQueued(
  { imports, settings }: ImportParts,
  taken: readonly string[],
): Promise<ImportRecord | undefined> {
  const waiting = await imports.countBy('tenant', { status: 'queued' });
  if (waiting.size === 0) return undefined;
  const busy = await imports.countBy('tenant', { status: 'running' });
  const starting = (await imports.getMany(taken)).filter(({ status }) => status === 'queued');
  for (const { tenant } of starting) busy.set(tenant, (busy.get(tenant) ?? 0) + 1);
  const load = (tenant: string) => busy.get(tenant) ?? 0;
  const heads: ImportRecord[] = [];
  for (const tenant of waiting.keys()) {
    const where = { status: 'queued', tenant } as const;
    const queued = await imports.find({ where, sort: ['queuedAt'], limit: LOOKED_AT });
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
