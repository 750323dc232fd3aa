import { homeOf } from '@commonplace/kit/id';
import { createQuota, type QuotaTerms, quotaCollection } from '@commonplace/kit/quota';
import type { Collection, Store, UnitOfWork, Where } from '@commonplace/kit/store';
import type { Settings } from '../config.js';
import type { AuditRecord } from './records.js';

const HOUR_MS = 3_600_000;
/**
 * Part of a tenant's limit that the denials and failures of one person may use, so that no member can fill the log and
 * then act unseen, or hide what others do.
 */
const SHARE_OF_PERSON = 1 / 4;

export interface AuditLimits {
  /**
   * Reserves a denial or failure in the unit of work that records it. Returns false if the tenant's log has as many as
   * an hour allows, altogether or about that person.
   */
  reserve(work: UnitOfWork, record: Pick<AuditRecord, 'tenant' | 'personId'>): Promise<boolean>;
}

interface AuditLimitParts {
  readonly settings: Pick<Settings, 'auditDenialsPerHour'>;
  readonly store: Store;
  readonly auditEvents: Collection<AuditRecord>;
  /** Returns the current time in epoch milliseconds. */
  now(): number;
}

class HourIsFull extends Error {}

/** Opens the limits on how many denials and failures are recorded per hour, which hold under concurrent reports. */
export async function openAuditLimits({ settings, store, auditEvents, now }: AuditLimitParts): Promise<AuditLimits> {
  const quotas = await store.collection(quotaCollection);
  const limit = settings.auditDenialsPerHour;
  const countOf = async (of: Where<AuditRecord>, atMost: number): Promise<number> => {
    const at = { gt: new Date(now() - HOUR_MS).toISOString() };
    const counts = await Promise.all(
      (['denied', 'failure'] as const).map((outcome) => auditEvents.count({ and: [of, { outcome, at }] }, atMost)),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  };
  const quotaOf = (terms: Omit<QuotaTerms, 'refuse'>) =>
    createQuota(quotas, { ...terms, refuse: () => new HourIsFull() });
  const ofTenant = quotaOf({ name: 'audit', limit, count: (tenant) => countOf({ tenant }, limit) });
  const share = Math.ceil(limit * SHARE_OF_PERSON);
  const ofPerson = quotaOf({
    name: 'audit_person',
    limit: share,
    count: (key) => {
      const [tenant = '', personId = ''] = key.split(' ');
      return countOf({ tenant, personId }, share);
    },
  });
  return {
    async reserve(work, { tenant, personId }) {
      // A person's own Personal tenant has no one else.
      const isShared = personId !== undefined && tenant !== homeOf(personId);
      try {
        if (isShared) await ofPerson.reserve(work, `${tenant} ${personId}`);
        await ofTenant.reserve(work, tenant);
        return true;
      } catch (error) {
        if (error instanceof HourIsFull) return false;
        throw error;
      }
    },
  };
}
