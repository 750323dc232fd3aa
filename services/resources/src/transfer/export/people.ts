import type { Actor } from '@commonplace/kit/auth';
import type { TransferParts } from '../parts.js';

/** Looks up addresses of people by id, once each. */
export interface Emails {
  /** Loads the addresses that are not known yet. */
  load(ids: readonly string[]): Promise<void>;
  of(id: string): string | undefined;
}

/** Number of people in one query. */
const PEOPLE_PER_QUERY = 200;

/** Asks as this service, because an export may outlast the token of the person who requested it. */
export function createEmails({ peers, systemCall }: Pick<TransferParts, 'peers' | 'systemCall'>): Emails {
  const known = new Map<string, string | undefined>();
  return {
    async load(ids) {
      const missing = [...new Set(ids)].filter((id) => id !== '' && !known.has(id));
      for (let at = 0; at < missing.length; at += PEOPLE_PER_QUERY) {
        const some = missing.slice(at, at + PEOPLE_PER_QUERY);
        const { users } = await peers.users.findUsers({ ids: some, emails: [] }, systemCall());
        for (const id of some) known.set(id, undefined);
        for (const { id, email } of users) known.set(id, email);
      }
    },
    of: (id) => known.get(id),
  };
}

/** Returns an actor for an archive: a person has their address, by which other installations identify them. */
export function shownActor({ type, id, name }: Actor, emails: Emails): object {
  const email = type === 'user' ? emails.of(id) : undefined;
  return { type, id, name, ...(email === undefined ? {} : { email }) };
}
