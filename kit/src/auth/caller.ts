import { type AppError, TenantBoundary } from '../errors/index.js';

/**
 * Identity of the caller, as the identity service has established it. Services must trust nothing else about the
 * caller. It arrives in a signed token and never as plain fields.
 */
export interface Caller {
  readonly userId: string;
  readonly userName: string;
  readonly userEmail: string;
  /**
   * The tenant that the credential is bound to; `{ orgId: null }` is the Personal tenant. Absent for a session or
   * bearer without `X-Tenant`: the tenant then follows from the ids in the request, or is the Personal one.
   */
  readonly tenant?: { readonly orgId: string | null };
  /** Value of `X-Workspace-Id`, which restricts every call to one workspace. */
  readonly workspaceId?: string;
  readonly credential: Credential;
  /** The agent that makes the call on behalf of the person: it may do what both of them may. */
  readonly agent?: CallingAgent;
  /** The automation that makes the call with the rights of the person. */
  readonly automation?: CallingAutomation;
  /**
   * The id of the person who has set up the automation that makes the call, or that has started the agent, if it acts
   * with the rights of another person: the call may do what both of them may.
   */
  readonly authorId?: string;
  /** Ids of the automations whose runs led to the call, oldest first; events of the call carry them. */
  readonly chain?: readonly string[];
  /** Network of the client in CIDR notation; absent if no client made the call. */
  readonly network?: string;
}

export interface Credential {
  readonly type: 'session' | 'bearer' | 'api_key' | 'internal' | 'submission';
  /** Identifies the credential in rate limits, idempotency records and logs; not secret. */
  readonly id: string;
  readonly name?: string;
  readonly scopes: readonly string[];
  /** The only workspaces that the credential may access; no such limit when absent. */
  readonly workspaceIds?: readonly string[];
  readonly expiresAt?: string;
  /** For the type submission: id of the only form that it opens. No person is behind it, and `userId` is empty. */
  readonly formId?: string;
}

/** Roles that an agent can have in a workspace, from the weakest to the strongest: none of them manages anything. */
export const AGENT_ROLES = ['viewer', 'commenter', 'editor'] as const;

export type AgentRole = (typeof AGENT_ROLES)[number];

export interface CallingAgent {
  readonly id: string;
  readonly name: string;
  /** Its role by workspace. It reaches no other workspace, whatever the person may do there. */
  readonly roles: Readonly<Record<string, AgentRole>>;
  /** It has read untrusted content in this run, so what it writes is untrusted too. */
  readonly tainted?: boolean;
}

export interface CallingAutomation {
  readonly id: string;
  readonly name: string;
  /** Its run was given untrusted content, so what it writes is untrusted too. */
  readonly tainted?: boolean;
}

/** Returns the agent or the automation that makes a call after it has read untrusted content; undefined without one. */
export function taintedWriterOf({
  agent,
  automation,
}: Caller): { readonly id: string; readonly name: string } | undefined {
  return [agent, automation].find((one) => one?.tainted === true);
}

/** Returns the caller with the author in the person's place, whose rights limit the call too; undefined without one. */
export function authorOf(caller: Caller): Caller | undefined {
  const { authorId, ...others } = caller;
  return authorId === undefined ? undefined : { ...others, userId: authorId, userName: '', userEmail: '' };
}

export interface Actor {
  readonly type: 'user' | 'agent' | 'api_key' | 'automation' | 'import' | 'system';
  readonly id: string;
  readonly name: string;
}

/**
 * Returns the actor to record for the caller's changes: the agent, the automation or the API key if it is one, otherwise
 * the user. On whose behalf an agent or an automation acts is the caller's `userId`.
 */
export function actorOf(caller: Caller): Actor {
  if (caller.agent !== undefined) return { type: 'agent', id: caller.agent.id, name: caller.agent.name };
  if (caller.automation !== undefined) {
    return { type: 'automation', id: caller.automation.id, name: caller.automation.name };
  }
  const { type, id, name = '', formId = '' } = caller.credential;
  if (type === 'submission') return { type: 'system', id: formId, name: 'Form' };
  return type === 'api_key' ? { type, id, name } : { type: 'user', id: caller.userId, name: caller.userName };
}

/**
 * Returns whether the credential may access an Org (`null`: the Personal tenant) at all. Roles are checked separately.
 */
export function reachesTenant(caller: Caller, orgId: string | null): boolean {
  return caller.tenant === undefined || caller.tenant.orgId === orgId;
}

/** Returns whether the credential may access a workspace of an Org (`null`: the Personal tenant) at all. */
export function reachesWorkspace(caller: Caller, workspaceId: string, orgId: string | null): boolean {
  return (
    reachesTenant(caller, orgId) &&
    (caller.workspaceId === undefined || caller.workspaceId === workspaceId) &&
    (caller.credential.workspaceIds === undefined || caller.credential.workspaceIds.includes(workspaceId)) &&
    (caller.agent === undefined || agentRoleIn(caller.agent, workspaceId) !== undefined)
  );
}

/** The place of a record: a workspace of an Org (`''` or null: Personal), or without one a whole Org. */
interface RecordPlace {
  readonly workspaceId?: string | undefined;
  readonly orgId: string | null;
}

/** Returns whether the credential may access a place. One that is limited to workspaces reaches no whole Org. */
export function reachesPlace(caller: Caller, { workspaceId, orgId }: RecordPlace): boolean {
  if (workspaceId !== undefined) return reachesWorkspace(caller, workspaceId, orgId || null);
  return reachesTenant(caller, orgId || null) && workspacesReached(caller) === undefined;
}

/** Returns the role of an agent in a workspace; undefined without one, or for a role that no agent can have. */
export function agentRoleIn({ roles }: CallingAgent, workspaceId: string): AgentRole | undefined {
  return Object.hasOwn(roles, workspaceId) ? AGENT_ROLES.find((role) => role === roles[workspaceId]) : undefined;
}

/** Returns whether the credential is limited to certain workspaces of its tenant. */
export function isWorkspaceLimited({ credential, agent }: Caller): boolean {
  return credential.workspaceIds !== undefined || agent !== undefined;
}

/** Returns the workspaces that a request is limited to, by its credential or a header; undefined without such a limit. */
export function workspacesReached({ workspaceId, credential }: Caller): readonly string[] | undefined {
  return workspaceId === undefined ? credential.workspaceIds : [workspaceId];
}

/**
 * Returns the error for access outside of the credential's limits, with advice in its message. `orgId` names the tenant
 * that was accessed (`null`: Personal); without it, the credential's own tenant was.
 */
export function credentialOutOfScope(caller: Caller, orgId?: string | null): AppError {
  return TenantBoundary({}, { message: outOfScopeMessage(caller, orgId) });
}

function outOfScopeMessage(caller: Caller, orgId: string | null | undefined): string {
  const { credential, tenant } = caller;
  if (orgId !== undefined && !reachesTenant(caller, orgId)) {
    if (credential.type !== 'api_key') {
      return 'X-Tenant or X-Workspace-Id names another tenant than the request addresses.';
    }
    return tenant?.orgId === null
      ? 'Personal keys cannot access an Org. Sign in and create a key of type org.'
      : 'Keys of an Org cannot access Personal workspaces or other Orgs.';
  }
  if (caller.workspaceId !== undefined) return 'X-Workspace-Id names another workspace than the request addresses.';
  if (caller.agent !== undefined) return 'The agent has no role in the workspace that the request addresses.';
  return credential.workspaceIds === undefined
    ? 'This credential does not reach that tenant.'
    : 'This key is limited to certain workspaces (`workspace_ids`) and reaches nothing else of its tenant.';
}

/** Returns the tenant for lists and creations when no id in the request determines it. */
export function defaultOrgId(caller: Caller): string | null {
  return caller.tenant?.orgId ?? null;
}

/** Returns the id of the person for whom an actor makes a caller's change; undefined for themselves, and for the system. */
export function personBehind({ type, id }: Actor, { userId }: Pick<Caller, 'userId'>): string | undefined {
  return type === 'system' || id === userId ? undefined : userId;
}
