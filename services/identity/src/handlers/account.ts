import { type Caller, reachesWorkspace } from '@commonplace/kit/auth';
import { NotFound } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';
import type { CallOptions, Handlers } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import { enumName } from '@commonplace/platform/enums';
import type { MembershipCache, PersonMemberships } from '@commonplace/platform/memberships';
import {
  type AccountService,
  CredentialType,
  type MeCredential,
  type MeOrg,
  type MeTenant,
  TenantType,
} from '@commonplace/proto/identity/v1/account_service.js';
import type { OrgMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { toUser } from '../domain/user.js';
import type { UserRecord } from '../stores/users.js';

interface AccountParts {
  readonly users: Collection<UserRecord>;
  readonly memberships: MembershipCache;
}

export function createAccountHandlers({ users, memberships }: AccountParts): Handlers<AccountService> {
  /**
   * Returns the person's default workspace, which is Personal; undefined if they have left it or the credential does not
   * reach it.
   */
  async function defaultWorkspaceOf(caller: Caller, known: PersonMemberships, options: CallOptions) {
    const home = homeOf(caller.userId);
    if (!reachesWorkspace(caller, home, null)) return undefined;
    const isIn = ({ workspaces }: PersonMemberships) => workspaces.has(home);
    return isIn(known) || isIn(await memberships.fresh(caller.userId, options)) ? home : undefined;
  }

  return {
    async getMe(_, { caller, onward }) {
      const [user, person] = await Promise.all([users.get(caller.userId), memberships.of(caller.userId, onward)]);
      if (user === undefined) throw NotFound();
      return {
        user: toUser(user),
        tenant: tenantOf(caller, person),
        credential: credentialOf(caller),
        defaultWorkspaceId: await defaultWorkspaceOf(caller, person, onward),
        orgs: orgsOf(caller, person).map(toOrg),
      };
    },
  };
}

function tenantOf(caller: Caller, person: PersonMemberships): MeTenant {
  const orgId = caller.tenant?.orgId ?? null;
  if (orgId === null) return { type: TenantType.PERSONAL, orgId: undefined, name: caller.userName, role: undefined };
  const org = person.orgs.get(orgId);
  if (org === undefined) throw NotFound();
  return { type: TenantType.ORG, orgId, name: org.name, role: roleOf(org) };
}

/** Returns the person's Orgs. An API key shows only the Org that it is bound to, if any. */
function orgsOf({ credential, tenant }: Caller, person: PersonMemberships): OrgMembership[] {
  const all = [...person.orgs.values()];
  return credential.type === 'api_key' ? all.filter(({ orgId }) => orgId === tenant?.orgId) : all;
}

function toOrg(org: OrgMembership): MeOrg {
  return { id: org.orgId, name: org.name, role: roleOf(org) };
}

/** Returns the role's name: `ORG_ROLE_ADMIN` → `admin`. */
function roleOf({ role }: OrgMembership): string {
  return enumName(role, 'ORG_ROLE');
}

const TYPES = {
  session: CredentialType.SESSION,
  bearer: CredentialType.BEARER,
  api_key: CredentialType.API_KEY,
  internal: CredentialType.UNSPECIFIED,
  submission: CredentialType.UNSPECIFIED,
} as const;

function credentialOf({ credential }: Caller): MeCredential {
  const { type, id, name, scopes, workspaceIds, expiresAt } = credential;
  return {
    type: TYPES[type],
    keyId: type === 'api_key' ? id : undefined,
    name,
    scopes: [...scopes],
    workspaceIds: workspaceIds === undefined ? undefined : { values: [...workspaceIds] },
    expiresAt,
  };
}
