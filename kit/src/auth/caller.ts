/**
 * Who is calling, as identity has established it. Everything a service may believe about the
 * caller; it arrives in a signed token and never as plain fields.
 */
export interface Caller {
  readonly userId: string;
  readonly userName: string;
  readonly userEmail: string;
  /**
   * The tenant that the credential is bound to: `{ orgId: null }` is the Personal one. Absent for a
   * session or bearer without `X-Tenant`, whose tenant is that of the ids used, else Personal.
   */
  readonly tenant?: { readonly orgId: string | null };
  /** `X-Workspace-Id`: narrows every call to one workspace. */
  readonly workspaceId?: string;
  readonly credential: Credential;
}

export interface Credential {
  readonly type: 'session' | 'bearer' | 'api_key' | 'internal' | 'submission';
  /** Names the credential in rate limits, idempotency records and logs; not secret. */
  readonly id: string;
  readonly name?: string;
  readonly scopes: readonly string[];
  /** The only workspaces that it reaches; absent for no such limit. */
  readonly workspaceIds?: readonly string[];
  readonly expiresAt?: string;
  /** Of type submission: the one form that it opens. Nobody is behind it, and `userId` is empty. */
  readonly formId?: string;
}

export interface Actor {
  readonly type: 'user' | 'agent' | 'api_key' | 'automation' | 'import' | 'system';
  readonly id: string;
  readonly name: string;
}

/** How what the caller does is labelled: by the key, where it is one. */
export function actorOf(caller: Caller): Actor {
  const { type, id, name = '', formId = '' } = caller.credential;
  if (type === 'submission') return { type: 'system', id: formId, name: 'Form' };
  return type === 'api_key' ? { type, id, name } : { type: 'user', id: caller.userId, name: caller.userName };
}

/** Whether the credential may touch an Org (`null`: Personal) at all; roles are another question. */
export function reachesTenant(caller: Caller, orgId: string | null): boolean {
  return caller.tenant === undefined || caller.tenant.orgId === orgId;
}

/** Whether the credential may touch a workspace of that Org (`null`: Personal) at all. */
export function reachesWorkspace(caller: Caller, workspaceId: string, orgId: string | null): boolean {
  return (
    reachesTenant(caller, orgId) &&
    (caller.workspaceId === undefined || caller.workspaceId === workspaceId) &&
    (caller.credential.workspaceIds === undefined || caller.credential.workspaceIds.includes(workspaceId))
  );
}

/** The tenant that lists and creations are for when no id says otherwise. */
export function defaultOrgId(caller: Caller): string | null {
  return caller.tenant?.orgId ?? null;
}
