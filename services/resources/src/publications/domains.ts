import { randomBytes } from 'node:crypto';
import { derivedId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Found } from './dns.js';
import { MAX_DOMAINS } from './open.js';
import type { PublicationParts } from './parts.js';
import { type DomainRecord, nameOf, type PublicationRecord, type RecordState } from './records.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Milliseconds between checks of a new domain, which its owner is still setting up. */
const SETUP_INTERVAL_MS = 10 * MINUTE_MS;
const SETUP_MS = 48 * HOUR_MS;
const DAILY_INTERVAL_MS = 24 * HOUR_MS;
/** Milliseconds after which a domain with missing records fails. */
const LOST_AFTER_MS = 72 * HOUR_MS;

const NOTHING_SEEN: RecordState = { txt: false, cname: false };

/** Returns the name and the value of the TXT record that proves a domain. */
export const verifyName = (domain: string): string => `_wsk-verify.${domain}`;
export const verifyValue = (token: string): string => `wsk-verify=${token}`;

/** Returns the id of a publication's unproven claim to a name. */
export const claimId = (name: string, publicationId: string): string => derivedId(`domain:${name}:${publicationId}`);

/**
 * Sets the domains of a publication. Domains that it had keep their state. Several publications may claim the same
 * name: the first that proves it gets it.
 */
export async function claimDomains(
  parts: PublicationParts,
  { id, tenant }: Pick<PublicationRecord, 'id' | 'tenant'>,
  wanted: readonly string[],
  now: string,
  context: CallContext,
): Promise<DomainRecord[]> {
  const { work } = context;
  const had = await parts.domains.find({ where: { publicationId: id }, limit: MAX_DOMAINS });
  for (const domain of had) if (!wanted.includes(nameOf(domain))) work.remove(parts.domains, domain);
  const own = new Map(had.map((domain) => [nameOf(domain), domain]));
  const claimed: DomainRecord[] = [];
  for (const name of wanted) {
    const known = own.get(name);
    if (known !== undefined) {
      // Naming a domain again suggests that its records were just set, so it is checked at once.
      claimed.push(
        known.status === 'active' ? known : work.replace(parts.domains, known, { ...known, nextCheckAt: now }),
      );
      continue;
    }
    const record = {
      id: claimId(name, id),
      domain: name,
      tenant,
      publicationId: id,
      // Each claim has its own token: a record that was set for another claim proves nothing.
      token: randomBytes(20).toString('hex'),
      status: 'pending_dns',
      seen: NOTHING_SEEN,
      addedAt: now,
      nextCheckAt: now,
    } as const;
    claimed.push(work.insert(parts.domains, record));
  }
  return claimed;
}

export async function dropDomains(parts: PublicationParts, publicationId: string, { work }: Pick<CallContext, 'work'>) {
  for (const domain of await parts.domains.find({ where: { publicationId }, limit: MAX_DOMAINS })) {
    work.remove(parts.domains, domain);
  }
}

/**
 * Stores the result of a check. A proven claim gets the name, unless another publication holds it with a valid
 * proof. A holder without one is turned back into a claim.
 */
export async function writeChecked(
  { domains }: Pick<PublicationParts, 'domains'>,
  before: DomainRecord,
  after: Omit<DomainRecord, 'version'>,
  work: UnitOfWork,
): Promise<Omit<DomainRecord, 'version'>> {
  const name = nameOf(before);
  if (after.status !== 'active' || before.id === name) return work.replace(domains, before, after);
  const holder = await work.get(domains, name);
  if (holder?.status === 'active') {
    const error =
      'Another publication has proven this domain. It becomes available 72 hours after the records of that one are removed.';
    return work.replace(domains, before, { ...after, certificate: undefined, status: 'verifying', error });
  }
  work.remove(domains, before);
  const proven = { ...after, id: name, domain: undefined };
  if (holder === undefined) return work.insert(domains, proven);
  const { version: _, ...left } = holder;
  work.insert(domains, { ...left, id: claimId(name, holder.publicationId), domain: name });
  return work.replace(domains, holder, proven);
}

/** Returns a domain's record after a DNS check. A failed lookup does not change which records were seen. */
export function domainAfter(domain: DomainRecord, found: Found, now: string): Omit<DomainRecord, 'version'> {
  const checked = { ...domain, lastCheckedAt: now };
  if ('error' in found) return { ...checked, error: found.error, nextCheckAt: nextCheck(domain, now) };
  const { txt, cname } = found;
  const seen = { txt, cname };
  if (txt && cname) {
    return {
      ...checked,
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
    if (!isLost) return { ...checked, seen, lostAt, error, nextCheckAt: [next, end].sort()[0] as string };
    return { ...checked, seen, lostAt, error, status: 'failed', nextCheckAt: next };
  }
  if (domain.status === 'failed') return { ...checked, seen, error, nextCheckAt: nextCheck(domain, now) };
  const status = txt || cname ? 'verifying' : 'pending_dns';
  return { ...checked, seen, error, status, nextCheckAt: nextCheck(domain, now) };
}

function nextCheck({ addedAt }: DomainRecord, now: string): string {
  const at = Date.parse(now);
  return new Date(at + (at - Date.parse(addedAt) < SETUP_MS ? SETUP_INTERVAL_MS : DAILY_INTERVAL_MS)).toISOString();
}

function problemOf({ txt, cname }: RecordState): string {
  if (!txt && !cname) return 'The TXT and the CNAME record are missing.';
  return txt ? 'The CNAME record is missing.' : 'The TXT record is missing or has another value.';
}
