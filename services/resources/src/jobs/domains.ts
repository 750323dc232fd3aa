import type { Log } from '@commonplace/kit/log';
import { LostRace } from '@commonplace/kit/store';
import { eventsBy, publishPublication } from '../events.js';
import type { Parts } from '../parts.js';
import { certificateAfter } from '../publications/certificates.js';
import { domainAfter, verifyName, verifyValue } from '../publications/domains.js';
import { originOfDomain } from '../publications/hosts.js';
import type { DomainRecord } from '../stores/publications.js';

/** Milliseconds until the next look, where nobody asks for one sooner. */
const LOOK_MS = 30_000;
/** Domains that one round looks at. */
const AT_ONCE = 20;

/** What a look into the DNS needs. */
export type DomainParts = Pick<Parts, 'store' | 'domains' | 'publications' | 'hosts' | 'resolver' | 'certificates'>;

export interface DomainChecks {
  begin(): void;
  /** Looks at once: a domain was named whose time has come. */
  wake(): void;
  close(): void;
}

/** Looks at the domains whose time has come, twice a minute and when told to. */
export function createDomainChecks(parts: () => DomainParts, log: Log): DomainChecks {
  let timer: NodeJS.Timeout | undefined;
  let running = false;
  let again = false;
  function wake(): void {
    again = timer !== undefined;
    if (running || !again) return;
    running = true;
    again = false;
    checkDomains(parts(), new Date().toISOString())
      .catch((error) => log.error('domains.check_failed', { error }))
      .finally(() => {
        running = false;
        if (again) wake();
      });
  }
  return {
    begin() {
      timer = setInterval(wake, LOOK_MS).unref();
      wake();
    },
    wake,
    close() {
      clearInterval(timer);
      timer = undefined;
      again = false;
    },
  };
}

/** Looks at the domains that are due. Gives how many. */
export async function checkDomains(parts: DomainParts, now: string): Promise<number> {
  const where = { nextCheckAt: { lte: now } };
  const due = await parts.domains.find({ where, sort: ['nextCheckAt'], limit: AT_ONCE });
  for (const domain of due) await checkDomain(parts, domain, now);
  return due.length;
}

async function checkDomain(parts: DomainParts, domain: DomainRecord, now: string): Promise<void> {
  const found = await parts.resolver.look({
    domain: domain.id,
    txtName: verifyName(domain.id),
    txtValue: verifyValue(domain.token),
    target: parts.hosts.target,
  });
  const after = await withCertificate(parts, domainAfter(domain, found, now), now);
  const work = parts.store.begin();
  work.replace(parts.domains, domain, after);
  if ((after.status === 'active') !== (domain.status === 'active')) {
    const publication = await parts.publications.get(domain.publicationId);
    const actor = { type: 'system', id: 'resources', name: 'Domain check' } as const;
    if (publication !== undefined) {
      publishPublication(eventsBy(actor, publication.tenant, work), publication, ['domains']);
    }
  }
  try {
    await work.commit();
  } catch (error) {
    // Another process has looked, or the domain was taken away meanwhile.
    if (!(error instanceof LostRace)) throw error;
  }
}

/** Somebody else ends TLS and gets the certificates; what a visitor is shown tells how far they are. */
async function withCertificate(
  { certificates, hosts }: Pick<DomainParts, 'certificates' | 'hosts'>,
  { certificate: known, ...domain }: Omit<DomainRecord, 'version'>,
  now: string,
): Promise<Omit<DomainRecord, 'version'>> {
  if (domain.status !== 'active') return domain;
  const visit = await certificates.visit(originOfDomain(domain.id, hosts.open));
  return { ...domain, certificate: certificateAfter(known, visit, domain.addedAt, now) };
}
