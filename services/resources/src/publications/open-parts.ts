import type { Guard } from '@commonplace/kit/fetch';
import { createStoredLimit } from '@commonplace/kit/limits';
import { createPasswords } from '@commonplace/kit/passwords';
import type { Collection } from '@commonplace/kit/store';
import { createCertificateProbe } from './certificates-guard.js';
import { createNodeResolver } from './dns-node.js';
import { createHosts } from './hosts.js';
import { createOutlines } from './outlines.js';
import type { PublicationParts } from './parts.js';
import {
  type DomainRecord,
  passwordTriesCollection,
  pinnedPageCollection,
  publicationCollection,
  slugCollection,
  viewCollection,
} from './records.js';

type OwnPart =
  | 'publications'
  | 'slugs'
  | 'domains'
  | 'pinned'
  | 'views'
  | 'passwordTries'
  | 'passwords'
  | 'outlines'
  | 'hosts'
  | 'resolver'
  | 'certificates';

/** Opens the collections of publications, and the resolver and probe that check custom domains. */
export async function openPublicationParts(
  parts: Omit<PublicationParts, OwnPart>,
  domains: Collection<DomainRecord>,
  guard: Pick<Guard, 'fetch'>,
): Promise<PublicationParts> {
  const { store, settings } = parts;
  const pinned = await store.collection(pinnedPageCollection);
  const records = await store.collection(passwordTriesCollection);
  return {
    ...parts,
    publications: await store.collection(publicationCollection),
    slugs: await store.collection(slugCollection),
    domains,
    pinned,
    views: await store.collection(viewCollection),
    passwordTries: createStoredLimit({ store, records, now: Date.now }),
    passwords: await createPasswords(),
    outlines: createOutlines({ ...parts, pinned }),
    hosts: createHosts(domains, settings),
    resolver: createNodeResolver(settings.dnsServers),
    certificates: createCertificateProbe(guard),
  };
}
