import type { DomainEvent } from '@commonplace/kit/events';
import type { AuditRecord, Outcome } from './records.js';

/** The audit entry of an event, before its tenants are known. */
export interface AuditDraft {
  readonly action: string;
  readonly outcome: Outcome;
  readonly target?: AuditRecord['target'];
  readonly workspaceId?: string;
  readonly reason?: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly count: number;
  /** The person whose Personal tenant and Orgs all record the entry; absent if the event names its tenant. */
  readonly person?: { readonly id: string; readonly name: string };
  /**
   * Identifies a fact that several processes may report, so that it is recorded once; if absent, the event's id
   * identifies it.
   */
  readonly onceFor?: string;
}

type AuditSource = (event: DomainEvent) => AuditDraft | undefined;

/** Returns a source that builds an entry from the named fields of an event, leaving out empty ones. */
function fact(target: string, idField: string, details: readonly string[]): AuditSource {
  return ({ type, data, subject }) => ({
    action: actionOf(type),
    outcome: 'success',
    target: { type: target, id: text(data[idField]) || subject },
    ...(text(data.workspaceId) === '' ? {} : { workspaceId: text(data.workspaceId) }),
    details: pick(data, details),
    count: 1,
  });
}

/**
 * Returns a source for events about a person. Such events name no tenant and are recorded in all tenants of the person.
 */
function personal(
  target: string,
  idField: string,
  details: readonly string[],
  outcome: Outcome = 'success',
): AuditSource {
  const source = fact(target, idField, details);
  return (event) => {
    const { userId, userName, reason, count } = event.data;
    const draft = source(event);
    if (draft === undefined || text(userId) === '') return undefined;
    return {
      ...draft,
      outcome,
      ...(text(reason) === '' ? {} : { reason: text(reason) }),
      count: typeof count === 'number' ? count : 1,
      person: { id: text(userId), name: text(userName) },
    };
  };
}

/** Records the first use of a key from a network within an hour, whichever process saw it. */
const keyUsed: AuditSource = (event) => {
  const { keyId, hour } = event.data;
  const draft = fact('api_key', 'keyId', [])(event);
  return draft && { ...draft, onceFor: `${text(keyId)} ${event.network ?? ''} ${text(hour)}` };
};

/** Records that a valid key was refused. */
const keyRefused: AuditSource = (event) => {
  const { reason, count } = event.data;
  const draft = fact('api_key', 'keyId', [])(event);
  return draft && { ...draft, outcome: 'failure', reason: text(reason), count: Number(count ?? 1) };
};

/** Records the first time within a period that a person opens a restricted resource, whichever process saw it. */
const restrictedResourceAccessed: AuditSource = (event) => {
  const { resourceId, userId, period } = event.data;
  const draft = fact('resource', 'resourceId', ['restrictedBy'])(event);
  return draft && { ...draft, onceFor: `${text(userId)} ${text(resourceId)} ${text(period)}` };
};

const org = fact('org', 'orgId', ['changedFields']);
const orgMember = fact('member', 'memberId', ['userId', 'role', 'status', 'transferToUserId']);
const group = fact('group', 'groupId', ['name', 'changedFields']);
const groupMember = fact('group', 'groupId', ['userId']);
const workspace = fact('workspace', 'workspaceId', ['changedFields']);
const workspaceMember = fact('member', 'memberId', ['userId', 'role']);
const permission = fact('resource', 'resourceId', ['principal', 'role', 'expiresAt']);
const accessRequest = fact('resource', 'resourceId', ['requestId', 'requesterId', 'role', 'status']);
const apiKey = fact('api_key', 'keyId', ['name', 'userId']);
const passkey = personal('passkey', 'passkeyId', ['name']);
const connector = fact('connector', 'connectorId', ['type']);
const connection = fact('connection', 'connectionId', ['connectorId', 'userId']);

/** Maps the type of each event that the audit log records to the function that builds its entry. */
export const AUDITED: Readonly<Record<string, AuditSource>> = {
  'commonplace.identity.user.created': personal('user', 'userId', []),
  'commonplace.identity.session.started': personal('session', 'credentialId', ['method']),
  'commonplace.identity.session.ended': personal('session', 'credentialId', []),
  'commonplace.identity.sign_in.failed': personal('user', 'userId', [], 'failure'),
  'commonplace.identity.user.password_changed': personal('user', 'userId', ['how']),
  'commonplace.identity.user.second_factor_changed': personal('user', 'userId', ['how']),
  'commonplace.identity.user.email_verified': personal('user', 'userId', []),
  'commonplace.identity.user.reclaimed': personal('user', 'userId', []),
  'commonplace.identity.user.disabled': personal('user', 'userId', []),
  'commonplace.identity.user.enabled': personal('user', 'userId', []),
  'commonplace.identity.user.passkey_added': passkey,
  'commonplace.identity.user.passkey_removed': passkey,
  'commonplace.identity.api_key.created': apiKey,
  'commonplace.identity.api_key.rotated': apiKey,
  'commonplace.identity.api_key.revoked': apiKey,
  'commonplace.identity.api_key.suspended': apiKey,
  'commonplace.identity.api_key.used': keyUsed,
  'commonplace.identity.api_key.refused': keyRefused,
  'commonplace.tenancy.org.created': org,
  'commonplace.tenancy.org.updated': org,
  'commonplace.tenancy.org.deleted': org,
  'commonplace.tenancy.org.restored': org,
  'commonplace.tenancy.org_member.added': orgMember,
  'commonplace.tenancy.org_member.updated': orgMember,
  'commonplace.tenancy.org_member.removed': orgMember,
  'commonplace.tenancy.group.created': group,
  'commonplace.tenancy.group.updated': group,
  'commonplace.tenancy.group.deleted': group,
  'commonplace.tenancy.group_member.added': groupMember,
  'commonplace.tenancy.group_member.removed': groupMember,
  'commonplace.tenancy.workspace.created': workspace,
  'commonplace.tenancy.workspace.updated': workspace,
  'commonplace.tenancy.workspace.archived': workspace,
  'commonplace.tenancy.workspace.unarchived': workspace,
  'commonplace.tenancy.workspace_member.added': workspaceMember,
  'commonplace.tenancy.workspace_member.updated': workspaceMember,
  'commonplace.tenancy.workspace_member.removed': workspaceMember,
  'commonplace.tenancy.connector.created': connector,
  'commonplace.tenancy.connector.deleted': connector,
  'commonplace.tenancy.connection.created': connection,
  'commonplace.tenancy.connection.deleted': connection,
  'commonplace.resources.permission.granted': permission,
  'commonplace.resources.permission.changed': permission,
  'commonplace.resources.permission.revoked': permission,
  'commonplace.resources.access_mode.changed': fact('resource', 'resourceId', ['accessMode']),
  'commonplace.resources.restricted_resource.accessed': restrictedResourceAccessed,
  'commonplace.resources.access_request.created': accessRequest,
  'commonplace.resources.access_request.decided': accessRequest,
  'commonplace.resources.publication.updated': fact('publication', 'publicationId', [
    'resourceId',
    'status',
    'changedFields',
  ]),
  'commonplace.files.export.created': fact('export', 'exportId', ['format']),
};

/** The actions of all entries: those of events, and denials. */
export const ACTIONS: readonly string[] = [...Object.keys(AUDITED).map(actionOf), 'access.denied'];

/** The outcomes of actions that do not succeed. */
const UNSUCCESSFUL: Readonly<Record<string, Outcome>> = {
  'access.denied': 'denied',
  'api_key.refused': 'failure',
  'sign_in.failed': 'failure',
};

/** Returns the outcome that all entries of an action have. */
export const outcomeOf = (action: string): Outcome => UNSUCCESSFUL[action] ?? 'success';

/** Returns the action of an event type: `commonplace.tenancy.org_member.added` → `org_member.added`. */
function actionOf(type: string): string {
  return type.split('.').slice(2).join('.');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns fields of an event under their snake_case names, leaving out empty ones. */
function pick(data: DomainEvent['data'], fields: readonly string[]): Record<string, unknown> {
  const found = fields.map((field) => [field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), data[field]]);
  return Object.fromEntries(
    found.filter(([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)),
  );
}
