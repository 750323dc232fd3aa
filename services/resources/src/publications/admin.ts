import { createEvent, type DomainEvent, OPERATOR } from '@commonplace/kit/events';
import type { Store } from '@commonplace/kit/store';
import { type PublicationRecord, publicationCollection, slugCollection } from './records.js';

/** A publication as an operator sees it. */
export interface OperatorPublication {
  readonly id: string;
  readonly slug: string;
  readonly kind: PublicationRecord['kind'];
  readonly itemId: string;
  readonly workspaceId: string;
  /** RFC 3339; null if the publication is not suspended. */
  readonly suspendedAt: string | null;
}

/** The operator's commands on publications. They work on the records directly and need no API key. */
export interface PublicationAdmin {
  /** Finds a publication by its id, or by a current or former slug. Returns undefined if there is none. */
  find(which: string): Promise<PublicationRecord | undefined>;
  /**
   * Suspends a publication: readers get 404 within seconds, until it is resumed. Does nothing if it is suspended
   * already.
   */
  suspend(publication: PublicationRecord): Promise<OperatorPublication>;
  /** Lifts a suspension; readers see the publication as its editors configured it. */
  resume(publication: PublicationRecord): Promise<OperatorPublication>;
}

export async function openPublicationAdmin(store: Store, now = Date.now): Promise<PublicationAdmin> {
  const publications = await store.collection(publicationCollection);
  const slugs = await store.collection(slugCollection);

  async function change(before: PublicationRecord, suspendedAt: string | undefined): Promise<OperatorPublication> {
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

function view({ id, slug, kind, itemId, workspaceId, suspendedAt }: PublicationRecord): OperatorPublication {
  return { id, slug, kind, itemId, workspaceId, suspendedAt: suspendedAt ?? null };
}

function byOperator({ suspendedAt, ...record }: PublicationRecord, time: string): DomainEvent {
  const { id: publicationId, itemId, kind, workspaceId, active, version, tenant } = record;
  const state = active ? 'active' : 'unpublished';
  const data = {
    publicationId,
    ...(kind === 'resource' && { resourceId: itemId }),
    workspaceId,
    status: suspendedAt === undefined ? state : 'suspended',
    changedFields: ['status'],
    version,
  };
  const type = 'publication.updated';
  return createEvent({ service: 'resources', type, subject: itemId, data, time, tenant, actor: OPERATOR });
}
