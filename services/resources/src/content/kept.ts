import { derivedId } from '@commonplace/kit/id';
import type { Collection, CollectionSpec, Store, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import type { Holder, KeptContent } from './kind.js';

/** Maps a snapshot to the body that it keeps. Its id is the snapshot's. */
interface KeptRecord extends StoredRecord {
  readonly tenant: string;
  readonly bodyId: string;
}

/** A body that snapshots of one node keep; equal bodies share one record. */
interface KeptBody extends StoredRecord {
  readonly tenant: string;
  /** Number of snapshots that keep the body. */
  readonly users: number;
  readonly body: unknown;
}

const keptCollection: CollectionSpec<KeptRecord> = { name: 'kept_contents', indexes: [] };
const bodyCollection: CollectionSpec<KeptBody> = { name: 'kept_bodies', indexes: [] };

/** Stores the contents of snapshots, for kinds whose content is a single record. */
export interface Keeper {
  keep(
    node: Pick<Holder, 'id' | 'tenant'>,
    snapshotId: string,
    body: unknown,
    is: KeptContent,
    work: UnitOfWork,
  ): Promise<void>;
  /** Returns the stored body; undefined if nothing was stored for the snapshot. */
  read(snapshotId: string, work: UnitOfWork): Promise<unknown>;
  forget(snapshotId: string, work: UnitOfWork): Promise<void>;
}

export async function openKeeper(store: Store): Promise<Keeper> {
  return createKeeper(await store.collection(keptCollection), await store.collection(bodyCollection));
}

function createKeeper(kept: Collection<KeptRecord>, bodies: Collection<KeptBody>): Keeper {
  return {
    async keep({ id, tenant }, snapshotId, body, { hash }, work) {
      const bodyId = derivedId(`kept:${id}:${hash}`);
      const known = await work.get(bodies, bodyId);
      if (known === undefined) work.insert(bodies, { id: bodyId, tenant, users: 1, body });
      else work.replace(bodies, known, { ...known, users: known.users + 1 });
      work.insert(kept, { id: snapshotId, tenant, bodyId });
    },

    async read(snapshotId, work) {
      const record = await work.get(kept, snapshotId);
      return record === undefined ? undefined : (await work.get(bodies, record.bodyId))?.body;
    },

    async forget(snapshotId, work) {
      const record = await work.get(kept, snapshotId);
      if (record === undefined) return;
      work.remove(kept, record);
      const body = await work.get(bodies, record.bodyId);
      if (body === undefined) return;
      if (body.users > 1) work.replace(bodies, body, { ...body, users: body.users - 1 });
      else work.remove(bodies, body);
    },
  };
}
