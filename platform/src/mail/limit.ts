import { type Claim, createStoredLimit, type Rate, usageCollection } from '@commonplace/kit/limits';
import type { Store } from '@commonplace/kit/store';
import { foldEmail } from '@commonplace/kit/words';

/** Limits the e-mails that people cause others to get, so that nobody can send bulk mail or flood an address. */
export interface MailLimit {
  /** Counts an e-mail that a person causes. Returns false if they, or the recipient's address, have no more this hour. */
  admits(mail: { readonly senderId?: string; readonly to: string }): Promise<boolean>;
}

interface MailLimitParts {
  readonly store: Store;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  /** Maximum e-mails an hour that one person causes; not limited if undefined. */
  readonly perSender?: number;
  /** Maximum e-mails an hour that one address gets. */
  readonly perAddress: number;
}

const HOUR_MS = 3_600_000;

/** Opens the limit of a service. Its counts are stored, so that they hold for all replicas. */
export async function openMailLimit({ store, now, perSender, perAddress }: MailLimitParts): Promise<MailLimit> {
  const records = await store.collection({ ...usageCollection('mail_limits'), expires: 'until' as const });
  // The claims of senders and addresses overlap in any combination.
  const limit = createStoredLimit({ store, records, now, oneQueue: true });
  const hourly = (count: number): Rate => ({ count, windowMs: HOUR_MS, comesBack: 'gradually' });
  return {
    async admits({ senderId, to }) {
      const claims: Claim[] = [{ key: ['mail', 'address', foldEmail(to)], rate: hourly(perAddress) }];
      if (senderId && perSender !== undefined) {
        claims.push({ key: ['mail', 'sender', senderId], rate: hourly(perSender) });
      }
      return (await limit.reserve(claims)).granted;
    },
  };
}
