import { randomBytes } from 'node:crypto';
import { type Collection, LostRace, type Store } from '@commonplace/kit/store';
import type { SigningKey } from './records.js';

const ID = 'urls';

/** Returns the key that signs URLs, which all processes of the service share; the first one creates it. */
export async function signingKey(store: Store, keys: Collection<SigningKey>): Promise<Buffer> {
  for (;;) {
    const known = await keys.get(ID);
    if (known !== undefined) return Buffer.from(known.secret, 'base64');
    const work = store.begin();
    work.insert(keys, { id: ID, secret: randomBytes(32).toString('base64') });
    try {
      await work.commit();
    } catch (error) {
      if (!(error instanceof LostRace)) throw error;
    }
  }
}
