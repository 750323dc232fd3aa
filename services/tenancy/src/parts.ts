import { type OpenGuard, openGuard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import { createEnvelope, type Envelope } from '@commonplace/kit/secrets';
import type { Store } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { type Mailer, type MailLimit, openMailer, openMailLimit } from '@commonplace/platform/mail';
import { ownUrls } from '@commonplace/platform/outgoing';
import type { Clients } from '@commonplace/platform/runtime';
import type { Settings } from './config.js';
import { createPolicy, type Policy } from './policy.js';
import { openStores, type Stores } from './stores/open.js';
import { openQuotas, type Quotas } from './stores/quotas.js';

/** The contracts of other services that this service calls. */
export const PEERS = {
  users: contracts.auth,
  index: contracts.index,
  permissions: contracts.permissions,
  templates: contracts.templateUse,
  archives: contracts.archives,
  agents: contracts.agentDirectory,
  work: contracts.workDirectory,
  conversations: contracts.conversationAccess,
};
export type Peers = Clients<typeof PEERS>;

/** The dependencies that the handlers of this service share. */
export interface Parts extends Stores, Peers {
  readonly store: Store;
  readonly settings: Settings;
  readonly policy: Policy;
  readonly quotas: Quotas;
  readonly log: Log;
  /** Encrypts and decrypts the credentials and tokens that users entrust to the service. */
  readonly envelope: Envelope;
  readonly mailer: Mailer;
  /** Limits the invitations that are sent by e-mail. */
  readonly mailLimit: MailLimit;
  /** Decides which user-supplied URLs may be called. */
  readonly guard: OpenGuard;
  /** Returns the current time as RFC 3339, plus `afterMs` milliseconds if given. */
  now(afterMs?: number): string;
}

interface PartsInput extends Peers {
  readonly store: Store;
  readonly settings: Settings;
  readonly log: Log;
  /** Returns the current time in epoch milliseconds. */
  readonly clock?: () => number;
}

export async function openParts({ clock = Date.now, ...input }: PartsInput): Promise<Parts> {
  const stores = await openStores(input.store);
  const { store, settings, log } = input;
  const { smtpUrl, mailFrom, publicUrl, secretsKey } = settings;
  const { invitationMails: perSender, invitationMailsPerAddress: perAddress } = settings;
  const envelope = createEnvelope(secretsKey);
  return {
    ...input,
    ...stores,
    policy: createPolicy(stores),
    quotas: await openQuotas(input.store, input.settings, stores),
    envelope,
    mailer: await openMailer({ service: 'tenancy', store, log, now: clock, smtpUrl, mailFrom, publicUrl, envelope }),
    mailLimit: await openMailLimit({ store, now: clock, perSender, perAddress }),
    guard: openGuard({ allowlist: settings.urlAllowlist, ownUrls: ownUrls(settings) }),
    now: (afterMs = 0) => new Date(clock() + afterMs).toISOString(),
  };
}
