import type { Caller } from '@commonplace/kit/auth';
import { NotFound } from '@commonplace/kit/errors';
import type { PersonMemberships } from '@commonplace/kit/memberships';
import type { Handlers } from '@commonplace/kit/rpc';
import {
  type AccountService,
  CredentialType,
  type MeCredential,
  type MeOrg,
  type MeTenant,
  TenantType,
} from '@commonplace/proto/identity/v1/account_service.js';
import type { OrgMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { homeOf } from '../domain/home.js';
import { toUser } from '../domain/user.js';
import type { Parts } from './parts.js';

export function createAccountHandlers({ users, memberships }: Parts): Handlers<AccountService> {
  return {
    async getMe(_, { caller, onward }) {
      const [user, person] = await Promise.all([users.get(caller.userId), memberships.of(caller.userId, onward)]);
      if (user === undefined) throw NotFound();
      return {
        user: toUser(user),
        tenant: tenantOf(caller, person),
        credential: credentialOf(caller),
        defaultWorkspaceId: homeOf(user.id),
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

/** A key tells of the Org that it is bound to, or of none; a person sees all of theirs. */
function orgsOf({ credential, tenant }: Caller, person: PersonMemberships): OrgMembership[] {
  const all = [...person.orgs.values()];
  return credential.type === 'api_key' ? all.filter(({ orgId }) => orgId === tenant?.orgId) : all;
}

function toOrg(org: OrgMembership): MeOrg {
  return { id: org.orgId, name: org.name, role: roleOf(org) };
}

/** `ORG_ROLE_ADMIN` → `admin`. */
function roleOf({ role }: OrgMembership): string {
  return role.replace(/^ORG_ROLE_/, '').toLowerCase();
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
