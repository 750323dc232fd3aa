import type { Caller } from '@commonplace/kit/auth';
import { isWithinTimes, namedSort, pageOfAll, parsePageRequest } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { Page } from '@commonplace/proto/api/v1/page.js';
import { OrgStatus } from '@commonplace/proto/tenancy/v1/org.js';
import type { ListOrgsRequest } from '@commonplace/proto/tenancy/v1/org_service.js';
import type { Parts } from '../parts.js';
import type { OrgAccess } from '../policy.js';
import { seenOrgs } from './seen.js';

/** Returns a page of the Orgs that a caller sees. A person is in few, so they are filtered and sorted in memory. */
export async function listOrgs(
  parts: Parts,
  caller: Caller,
  request: ListOrgsRequest,
): Promise<{ items: OrgAccess[]; page: Page }> {
  const seen = await seenOrgs(parts, caller, request.status === OrgStatus.DELETION_SCHEDULED);
  const places = new Map(seen.map((access) => [access.org.id, access]));
  const wanted = seen
    .map(({ org }) => ({ ...org, nameFold: foldName(org.name) }))
    .filter((org) => org.nameFold.includes(foldName(request.q)) && isWithinTimes(org, request));
  const { items, page } = pageOfAll(parsePageRequest(request.page), wanted, namedSort(request.sort, ['createdAt']));
  return { items: items.map(({ id }) => places.get(id) as OrgAccess), page };
}
