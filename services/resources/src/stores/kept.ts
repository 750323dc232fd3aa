import { derivedId } from '@commonplace/kit/id';
import type { Collection, CollectionSpec, Store, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import type { Holder, Kept } from '../content/kind.js';

/** Which body a snapshot keeps. Its id is the snapshot's. */
interface KeptRecord extends StoredRecord {
  readonly tenant: string;
  readonly bodyId: string;
}

/** A body that snapshots of one node keep: one record for all that are equal. */
interface KeptBody extends StoredRecord {
  readonly tenant: string;
  /** How many snapshots keep it. */
  readonly users: number;
  readonly body: unknown;
}

const keptCollection: CollectionSpec<KeptRecord> = { name: 'kept_contents', indexes: [] };
const bodyCollection: CollectionSpec<KeptBody> = { name: 'kept_bodies', indexes: [] };

/** Keeps contents that are one record each under the ids of snapshots. */
export interface Keeper {
  keep(
    node: Pick<Holder, 'id' | 'tenant'>,
    snapshotId: string,
    body: unknown,
    is: Kept,
    work: UnitOfWork,
  ): Promise<void>;
  /** What was given to keep; undefined where nothing was. */
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
