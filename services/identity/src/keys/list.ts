import type { Caller } from '@commonplace/kit/auth';
import { homeOf } from '@commonplace/kit/id';
import type { Where } from '@commonplace/kit/store';
import type { PersonMemberships } from '@commonplace/platform/memberships';
import { ApiKeyType, type ListApiKeysRequest } from '@commonplace/proto/identity/v1/api_key_service.js';
import { isAdmin, requireOrg } from '../policy.js';
import type { ApiKeyRecord } from '../stores/api-keys.js';
import { refuseContradiction } from './target.js';

/**
 * Returns the filters for the keys that a caller may list: their own, and all of an Org that they administer if
 * `org_id`, `type=org` or the credential selects it. The filters are disjoint and each has an index. Returns none
 * if the request's fields exclude each other.
 */
export function visibleKeys(
  request: Pick<ListApiKeysRequest, 'type' | 'orgId'>,
  caller: Caller,
  person: PersonMemberships,
): Where<ApiKeyRecord>[] {
  refuseContradiction(request);
  const { type, orgId } = request;
  const home = homeOf(caller.userId);
  if (orgId !== undefined) {
    requireOrg(caller, person, orgId);
    return [ofOrg(caller, person, orgId)];
  }
  if (caller.tenant === undefined) {
    if (type === ApiKeyType.PERSONAL) return [{ tenant: home }];
    if (type === ApiKeyType.ORG) return [...person.orgs.keys()].map((id) => ofOrg(caller, person, id));
    return [{ actingUserId: caller.userId }];
  }
  if (caller.tenant.orgId === null) return type === ApiKeyType.ORG ? [] : [{ tenant: home }];
  return type === ApiKeyType.PERSONAL ? [] : [ofOrg(caller, person, caller.tenant.orgId)];
}

function ofOrg(caller: Caller, person: PersonMemberships, orgId: string): Where<ApiKeyRecord> {
  return isAdmin(person.orgs.get(orgId)) ? { tenant: orgId } : { tenant: orgId, actingUserId: caller.userId };
}
