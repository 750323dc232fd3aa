import type { Guard } from '@commonplace/kit/fetch';
import { createStoredLimit } from '@commonplace/kit/limits';
import { createPasswords } from '@commonplace/kit/passwords';
import { type Collection, openCollections } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import { createCertificateProbe } from './certificates-guard.js';
import { createNodeResolver } from './dns-node.js';
import { createHosts } from './hosts.js';
import { createOutlines } from './outlines.js';
import { PUBLICATION_RECORDS, type PublicationParts } from './parts.js';
import { type DomainRecord, passwordTriesCollection } from './records.js';

/** Opens the collections of publications, and the resolver and probe that check custom domains. */
export async function openPublicationParts(
  parts: Parts & Pick<PublicationParts, 'kinds' | 'grants' | 'terms'>,
  domains: Collection<DomainRecord>,
  guard: Pick<Guard, 'fetch'>,
): Promise<PublicationParts> {
  const { store, settings } = parts;
  const records = await openCollections(store, PUBLICATION_RECORDS);
  const tries = await store.collection(passwordTriesCollection);
  return {
    ...parts,
    ...records,
    domains,
    passwordTries: createStoredLimit({ store, records: tries, now: Date.now }),
    passwords: await createPasswords(),
    outlines: createOutlines({ ...parts, ...records }),
    hosts: createHosts(domains, settings),
    resolver: createNodeResolver(settings.dnsServers),
    certificates: createCertificateProbe(guard),
  };
}
