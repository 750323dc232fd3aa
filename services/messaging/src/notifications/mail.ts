import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import { type Mailer, type MailLimit, nameInMail } from '@commonplace/platform/mail';
import type { AuthService, MailAddress } from '@commonplace/proto/identity/v1/auth_service.js';
import type { Settings } from '../config.js';
import type { Cause, Draft } from '../domain/draft.js';
import { titleOf } from '../domain/titles.js';
import { pathOf } from './present.js';

/** Dependencies for sending notifications by e-mail. */
export interface MailParts {
  readonly settings: Pick<Settings, 'publicUrl'>;
  readonly users: Pick<Client<AuthService>, 'getMailAddresses'>;
  readonly mailer: Mailer;
  /** Limits the e-mails that one person gets. */
  readonly mailLimit: MailLimit;
  /** Returns the options of a call that the system makes itself. */
  systemCall(): CallOptions;
}

/** The types of notifications that are also sent by e-mail. */
const MAILED: ReadonlySet<Draft['type']> = new Set(['mention']);

/** Returns whether a draft is also sent by e-mail. Mentions in conversations are not. */
function isMailed({ type, target }: Draft): boolean {
  return MAILED.has(type) && target.type !== 'conversation';
}

/** A draft with the ids of its recipients. */
interface AddressedDraft {
  readonly draft: Draft;
  readonly to: readonly string[];
}

/**
 * Returns the verified addresses of those who get an e-mail; none if e-mail is not configured. People who have got as
 * many as an hour may have are left out: they find the rest among their notifications.
 */
export async function mailAddressesOf(
  parts: MailParts,
  addressed: readonly AddressedDraft[],
): Promise<ReadonlyMap<string, MailAddress>> {
  const mailed = addressed.filter(({ draft }) => isMailed(draft));
  const userIds = [...new Set(mailed.flatMap(({ to }) => to))];
  if (!parts.mailer.available || userIds.length === 0) return new Map();
  const { addresses } = await parts.users.getMailAddresses({ userIds }, parts.systemCall());
  const admitted = await Promise.all(addresses.map(({ email }) => parts.mailLimit.admits({ to: email })));
  return new Map(addresses.filter((_, i) => admitted[i]).map((address) => [address.userId, address]));
}

/**
 * Adds an e-mail about a draft to a unit of work. The e-mail does not name the target, since access to it is checked
 * when the reader opens the link.
 */
export function enqueueMail(
  parts: MailParts,
  work: UnitOfWork,
  event: Cause,
  draft: Draft,
  address: MailAddress | undefined,
): void {
  if (address === undefined || !isMailed(draft)) return;
  const title = titleOf(draft.type, {
    actor: nameInMail(event.actor?.name ?? ''),
    name: undefined,
    facts: draft.facts,
  });
  parts.mailer.enqueue(work, {
    to: address.email,
    subject: title,
    paragraphs: [`Hello ${nameInMail(address.name)},`, `${title}.`],
    link: { label: 'Open it', url: parts.settings.publicUrl + pathOf(draft.target) },
  });
}
