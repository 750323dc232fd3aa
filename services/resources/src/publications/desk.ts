import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import type { Store } from '@commonplace/kit/store';
import { type PublicationRecord, publicationCollection, slugCollection } from '../stores/publications.js';

/** A publication as an operator sees it. */
export interface DeskPublication {
  readonly id: string;
  readonly slug: string;
  readonly kind: PublicationRecord['kind'];
  readonly itemId: string;
  readonly workspaceId: string;
  /** RFC 3339; null where readers are not kept from it. */
  readonly suspendedAt: string | null;
}

/** What who runs an installation may do with publications, without a key; on the records themselves. */
export interface PublicationDesk {
  /** By id, or by a slug that it has or had. Undefined where there is none such. */
  find(which: string): Promise<PublicationRecord | undefined>;
  /** Readers get 404 within seconds, until it is resumed. Nothing changes where it is suspended already. */
  suspend(publication: PublicationRecord): Promise<DeskPublication>;
  /** It stands for its readers as its editors have it. */
  resume(publication: PublicationRecord): Promise<DeskPublication>;
}

export async function openPublicationDesk(store: Store, now = Date.now): Promise<PublicationDesk> {
  const publications = await store.collection(publicationCollection);
  const slugs = await store.collection(slugCollection);

  async function change(before: PublicationRecord, suspendedAt: string | undefined): Promise<DeskPublication> {
    if ((before.suspendedAt === undefined) === (suspendedAt === undefined)) return view(before);
    const work = store.begin();
    const after = work.replace(publications, before, { ...before, suspendedAt });
    work.publish(byOperator(after, new Date(now()).toISOString()));
    await work.commit();
    return view(after);
  }

  return {
    async find(which) {
      const slug = await slugs.get(which);
      return publications.get(slug === undefined || slug.state === 'reserved' ? which : slug.publicationId);
    },
    suspend: (publication) => change(publication, new Date(now()).toISOString()),
    resume: (publication) => change(publication, undefined),
  };
}

function view({ id, slug, kind, itemId, workspaceId, suspendedAt }: PublicationRecord): DeskPublication {
  return { id, slug, kind, itemId, workspaceId, suspendedAt: suspendedAt ?? null };
}

function byOperator({ suspendedAt, ...record }: PublicationRecord, time: string): DomainEvent {
  const { id: publicationId, itemId, kind, workspaceId, active, version, tenant } = record;
  const standing = active ? 'active' : 'unpublished';
  const data = {
    publicationId,
    ...(kind === 'resource' && { resourceId: itemId }),
    workspaceId,
    status: suspendedAt === undefined ? standing : 'suspended',
    changedFields: ['status'],
    version,
  };
  return {
    specversion: '1.0',
    id: `evt_${newId()}`,
    source: '/resources',
    type: 'commonplace.resources.publication.updated',
    subject: itemId,
    time,
    datacontenttype: 'application/json',
    data,
    tenant,
    actor: { type: 'system', id: 'operator', name: 'operator' },
  };
}
