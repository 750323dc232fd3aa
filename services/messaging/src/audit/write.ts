import type { Log } from '@commonplace/kit/log';
import { type Collection, LostRace, type Store, UniqueTaken } from '@commonplace/kit/store';
import type { Settings } from '../config.js';
import { daysAfter } from '../domain/days.js';
import type { AuditLimits } from './limits.js';
import type { AuditRecord } from './records.js';

/** Maximum attempts to commit, since other processes may record the same facts. */
const MAX_ATTEMPTS = 5;

/** Dependencies for writing the audit log. */
export interface AuditWriteParts {
  readonly settings: Pick<Settings, 'auditDays'>;
  readonly log: Log;
  readonly store: Store;
  readonly auditEvents: Collection<AuditRecord>;
  readonly auditLimits: AuditLimits;
}

export type NewAuditRecord = Omit<AuditRecord, 'version' | 'expiresAt'>;

/**
 * Commits the audit records that do not exist yet, so that a fact reported twice is recorded once. Logs denials and
 * failures beyond the hourly limits instead of recording them.
 */
export async function recordAll(parts: AuditWriteParts, records: readonly NewAuditRecord[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    const known = new Set((await parts.auditEvents.getMany(records.map(({ id }) => id))).map(({ id }) => id));
    const fresh = records.filter(({ id }) => !known.has(id));
    const work = parts.store.begin();
    for (const record of fresh) {
      if (record.outcome !== 'success' && !(await parts.auditLimits.reserve(work, record))) {
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
