import { type HeldJob, openQueue, type Queue } from '@commonplace/kit/jobs';
import { eventsBy } from '../events.js';
import { certificateAfter } from './certificates.js';
import { domainAfter, verifyName, verifyValue, writeChecked } from './domains.js';
import { publishPublication } from './events.js';
import { originOfDomain } from './hosts.js';
import type { PublicationParts } from './parts.js';
import { type DomainRecord, domainQueue, nameOf } from './records.js';

/** Number of domains that a process checks concurrently. */
const CONCURRENCY = 4;
const DAY_MS = 86_400_000;

/** What a domain check needs. */
export type DomainParts = Pick<
  PublicationParts,
  'store' | 'log' | 'domains' | 'publications' | 'hosts' | 'resolver' | 'certificates'
>;

/** Opens the queue that checks domains when they are due. */
export function openDomainQueue({
  partsOf,
  ...options
}: Pick<DomainParts, 'store' | 'log'> & { partsOf(): DomainParts; now?: () => number }): Promise<Queue<DomainRecord>> {
  const { now = Date.now } = options;
  return openQueue<DomainRecord>({
    ...options,
    spec: domainQueue,
    concurrency: CONCURRENCY,
    retryDeadAfterMs: DAY_MS,
    run: (job) => checkDomain(partsOf(), job, new Date(now()).toISOString()),
  });
}

async function checkDomain(parts: DomainParts, job: HeldJob<DomainRecord>, now: string): Promise<void> {
  const name = nameOf(job.record);
  const found = await parts.resolver.lookUp({
    domain: name,
    txtName: verifyName(name),
    txtValue: verifyValue(job.record.token),
    target: parts.hosts.target,
  });
  const after = await withCertificate(parts, domainAfter(job.record, found, now), now);
  await job.endIn(async (work, domain) => {
    const { lease, failures, waits, deadAt, deadLetter } = domain;
    // The domain was claimed again since the DNS query, so its records may have been set meanwhile.
    const nextCheckAt = job.isPrompted ? now : after.nextCheckAt;
    const checked = { ...after, nextCheckAt, lease, failures, waits, deadAt, deadLetter };
    const written = await writeChecked(parts, domain, checked, work);
    if ((written.status === 'active') === (domain.status === 'active')) return;
    const publication = await parts.publications.get(domain.publicationId);
    const actor = { type: 'system', id: 'resources', name: 'Domain check' } as const;
    if (publication === undefined) return;
    publishPublication(eventsBy(actor, publication.tenant, work), publication, ['domains']);
  });
}

/**
 * Returns a domain with the state of its certificate. TLS is terminated and certificates are issued elsewhere, so a
 * visit to the domain shows how far they are.
 */
async function withCertificate(
  { certificates, hosts }: Pick<DomainParts, 'certificates' | 'hosts'>,
  { certificate: known, ...domain }: Omit<DomainRecord, 'version'>,
  now: string,
): Promise<Omit<DomainRecord, 'version'>> {
  if (domain.status !== 'active') return domain;
  const visit = await certificates.visit(originOfDomain(nameOf(domain), hosts.open));
  return { ...domain, certificate: certificateAfter(known, visit, domain.addedAt, now) };
}
