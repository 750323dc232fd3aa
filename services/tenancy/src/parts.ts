import { type OpenGuard, openGuard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import type { Client } from '@commonplace/kit/rpc';
import { createEnvelope, type Envelope } from '@commonplace/kit/secrets';
import type { Store } from '@commonplace/kit/store';
import { type Mailer, type MailLimit, openMailer, openMailLimit } from '@commonplace/platform/mail';
import { ownUrls } from '@commonplace/platform/outgoing';
import type { AgentDirectoryService } from '@commonplace/proto/agents/v1/agent_directory_service.js';
import type { WorkDirectoryService } from '@commonplace/proto/automations/v1/work_directory_service.js';
import type { ArchiveService } from '@commonplace/proto/files/v1/archive_service.js';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { ConversationAccessService } from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { PermissionService } from '@commonplace/proto/resources/v1/permission_service.js';
import type { TemplateUseService } from '@commonplace/proto/resources/v1/template_service.js';
import type { Settings } from './config.js';
import { createPolicy, type Policy } from './policy.js';
import { openStores, type Stores } from './stores/open.js';
import { openQuotas, type Quotas } from './stores/quotas.js';

/** Clients of the other services that this service calls. */
export interface Peers {
  readonly users: Client<AuthService>;
  readonly index: Client<IndexService>;
  readonly permissions: Client<PermissionService>;
  readonly templates: Client<TemplateUseService>;
  readonly archives: Client<ArchiveService>;
  readonly agents: Pick<Client<AgentDirectoryService>, 'checkAccess' | 'countAgents'>;
  readonly work: Pick<Client<WorkDirectoryService>, 'checkAccess' | 'countAutomations'>;
  readonly conversations: Pick<Client<ConversationAccessService>, 'checkAccess'>;
}

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
