import { randomBytes } from 'node:crypto';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from '../parts.js';
import type { DomainRecord, PublicationRecord, RecordState } from '../stores/publications.js';
import type { Found } from './dns.js';
import { DOMAINS } from './open.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A new domain is looked at often, in the days in which its owner works on it. */
const OFTEN_MS = 10 * MINUTE_MS;
const OFTEN_FOR_MS = 48 * HOUR_MS;
const LATER_MS = 24 * HOUR_MS;
/** What is gone for so long is given up. */
const LOST_AFTER_MS = 72 * HOUR_MS;

const NOTHING_SEEN: RecordState = { txt: false, cname: false };

/** Where the TXT record has to be, and what it has to hold. */
export const verifyName = (domain: string): string => `_wsk-verify.${domain}`;
export const verifyValue = (token: string): string => `wsk-verify=${token}`;

/** Whether somebody else may have the domain: it was never proven in time, or is lost. */
export function isLapsed({ status, addedAt }: DomainRecord, now: string): boolean {
  if (status === 'active') return false;
  return status === 'failed' || Date.parse(now) - Date.parse(addedAt) > OFTEN_FOR_MS;
}

/**
 * Gives a publication these domains and no others. Those that it had keep what is known of them. `holders` are the
 * records of the domains wanted, as they were looked at: what became of them since is a lost race.
 */
export async function claimDomains(
  parts: Parts,
  { id, tenant }: Pick<PublicationRecord, 'id' | 'tenant'>,
  wanted: readonly string[],
  holders: ReadonlyMap<string, DomainRecord>,
  now: string,
  context: CallContext,
): Promise<DomainRecord[]> {
  const { work } = context;
  const had = await parts.domains.find({ where: { publicationId: id }, limit: DOMAINS });
  for (const domain of had) if (!wanted.includes(domain.id)) work.remove(parts.domains, domain);
  const claimed: DomainRecord[] = [];
  for (const name of wanted) {
    const known = holders.get(name);
    if (known?.publicationId === id) {
      // Whoever names it again has set its records meanwhile: it is not their turn to wait.
      claimed.push(
        known.status === 'active' ? known : work.replace(parts.domains, known, { ...known, nextCheckAt: now }),
      );
      continue;
    }
    const record = {
      id: name,
      tenant,
      publicationId: id,
      // Of its own for each claim: a record that was put there for somebody else proves nothing.
      token: randomBytes(20).toString('hex'),
      status: 'pending_dns',
      seen: NOTHING_SEEN,
      addedAt: now,
      nextCheckAt: now,
    } as const;
    claimed.push(known === undefined ? work.insert(parts.domains, record) : work.replace(parts.domains, known, record));
  }
  if (claimed.some(({ nextCheckAt }) => nextCheckAt === now)) context.afterCommit(() => parts.domainChecks.wake());
  return claimed;
}

export async function dropDomains(parts: Parts, publicationId: string, { work }: Pick<CallContext, 'work'>) {
  for (const domain of await parts.domains.find({ where: { publicationId }, limit: DOMAINS })) {
    work.remove(parts.domains, domain);
  }
}

/** A domain after a look into the DNS. What could not be looked up says nothing of what is there. */
export function domainAfter(domain: DomainRecord, found: Found, now: string): Omit<DomainRecord, 'version'> {
  const looked = { ...domain, lastCheckedAt: now };
  if ('error' in found) return { ...looked, error: found.error, nextCheckAt: nextCheck(domain, now) };
  const { txt, cname } = found;
  const seen = { txt, cname };
  if (txt && cname) {
    return {
      ...looked,
      seen,
      status: 'active',
      lostAt: undefined,
      error: undefined,
      nextCheckAt: nextCheck(domain, now),
    };
  }
  const error = problemOf(seen);
  if (domain.status === 'active') {
    const lostAt = domain.lostAt ?? now;
    const isLost = Date.parse(now) - Date.parse(lostAt) >= LOST_AFTER_MS;
    const end = new Date(Date.parse(lostAt) + LOST_AFTER_MS).toISOString();
    const next = nextCheck(domain, now);
    if (!isLost) return { ...looked, seen, lostAt, error, nextCheckAt: [next, end].sort()[0] as string };
    return { ...looked, seen, lostAt, error, status: 'failed', nextCheckAt: next };
  }
  if (domain.status === 'failed') return { ...looked, seen, error, nextCheckAt: nextCheck(domain, now) };
  const status = txt || cname ? 'verifying' : 'pending_dns';
  return { ...looked, seen, error, status, nextCheckAt: nextCheck(domain, now) };
}

function nextCheck({ addedAt }: DomainRecord, now: string): string {
  const at = Date.parse(now);
  return new Date(at + (at - Date.parse(addedAt) < OFTEN_FOR_MS ? OFTEN_MS : LATER_MS)).toISOString();
}

function problemOf({ txt, cname }: RecordState): string {
  if (!txt && !cname) return 'Neither the TXT nor the CNAME record is there.';
  return txt ? 'The CNAME record is not there.' : 'The TXT record is not there, or holds something else.';
}
