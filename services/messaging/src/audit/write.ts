import type { Log } from '@commonplace/kit/log';
import { type Collection, LostRace, type Store, UniqueTaken } from '@commonplace/kit/store';
import type { Settings } from '../config.js';
import { daysAfter } from '../domain/days.js';
import type { AuditRecord } from './records.js';

const HOUR_MS = 3_600_000;
/** Maximum attempts to commit, since other processes may record the same facts. */
const MAX_ATTEMPTS = 5;

/** Dependencies for writing the audit log. */
export interface AuditWriteParts {
  readonly settings: Pick<Settings, 'auditDays' | 'auditDenialsPerHour'>;
  readonly log: Log;
  readonly store: Store;
  readonly auditEvents: Collection<AuditRecord>;
  /** Returns the current time in epoch milliseconds. */
  now(): number;
}

export type NewAuditRecord = Omit<AuditRecord, 'version' | 'expiresAt'>;

/**
 * Commits the audit records that do not exist yet, so that a fact reported twice is recorded once. Logs denials and
 * failures beyond the hourly limit of their tenant instead of recording them.
 */
export async function recordAll(parts: AuditWriteParts, records: readonly NewAuditRecord[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    const known = new Set((await parts.auditEvents.getMany(records.map(({ id }) => id))).map(({ id }) => id));
    const fresh = records.filter(({ id }) => !known.has(id));
    const work = parts.store.begin();
    const room = new Map<string, number>();
    for (const record of fresh) {
      if (record.outcome !== 'success' && !(await takeRoom(parts, record.tenant, room))) {
        const { tenant, action, reason, personId, network, count } = record;
        parts.log.warn('audit.limit_reached', { tenant, action, reason, person_id: personId, network, count });
        continue;
      }
      work.insert(parts.auditEvents, {
        ...record,
        expiresAt: daysAfter(Date.parse(record.at), parts.settings.auditDays),
      });
    }
    if (!work.dirty) return;
    try {
      await work.commit();
      return;
    } catch (error) {
      if (tries === MAX_ATTEMPTS || !(error instanceof LostRace || error instanceof UniqueTaken)) throw error;
    }
  }
}

/** Counts one denial or failure of a tenant. Returns whether the limit of the last hour allows it. */
async function takeRoom(parts: AuditWriteParts, tenant: string, room: Map<string, number>): Promise<boolean> {
  const limit = parts.settings.auditDenialsPerHour;
  let left = room.get(tenant);
  if (left === undefined) {
    const at = { gt: new Date(parts.now() - HOUR_MS).toISOString() };
    const counts = await Promise.all(
      (['denied', 'failure'] as const).map((outcome) => parts.auditEvents.count({ tenant, outcome, at }, limit)),
    );
    left = limit - counts.reduce((sum, count) => sum + count, 0);
  }
  room.set(tenant, left - 1);
  return left > 0;
}
