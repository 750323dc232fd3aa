import type { Actor } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from '../parts.js';

/** Addresses of people by id, asked for once each. */
export interface Emails {
  /** Asks for those that are not known yet. */
  load(ids: readonly string[]): Promise<void>;
  of(id: string): string | undefined;
}

/** People that one question asks for. */
const AT_ONCE = 200;

export function createEmails({ peers }: Parts, { onward }: CallContext): Emails {
  const known = new Map<string, string | undefined>();
  return {
    async load(ids) {
      const missing = [...new Set(ids)].filter((id) => id !== '' && !known.has(id));
      for (let at = 0; at < missing.length; at += AT_ONCE) {
        const some = missing.slice(at, at + AT_ONCE);
        const { users } = await peers.users.findUsers({ ids: some, emails: [] }, onward);
        for (const id of some) known.set(id, undefined);
        for (const { id, email } of users) known.set(id, email);
      }
    },
    of: (id) => known.get(id),
  };
}

/** An actor as an archive has it: a person with their address, by which they are known elsewhere. */
export function shownActor({ type, id, name }: Actor, emails: Emails): object {
  const email = type === 'user' ? emails.of(id) : undefined;
  return { type, id, name, ...(email === undefined ? {} : { email }) };
}
