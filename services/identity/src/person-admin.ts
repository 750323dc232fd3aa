import type { Store } from '@commonplace/kit/store';
import { foldEmail } from '@commonplace/kit/words';
import { userByEmail, userCollection } from './stores/users.js';

/** A person, as operator commands refer to them. */
interface OperatorPerson {
  readonly id: string;
  readonly email: string;
}

/** Returns the person with an address, for the operator of an installation; undefined if there is none. */
export async function findPerson(store: Store, email: string): Promise<OperatorPerson | undefined> {
  const user = await userByEmail(await store.collection(userCollection), foldEmail(email));
  return user && { id: user.id, email: user.email };
}

/** Returns the addresses of people by their ids. */
export async function findAddresses(store: Store, ids: readonly string[]): Promise<Map<string, string>> {
  const users = await (await store.collection(userCollection)).getMany(ids);
  return new Map(users.map(({ id, email }) => [id, email]));
}
