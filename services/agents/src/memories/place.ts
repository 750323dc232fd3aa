import { InsufficientRole, invalidField } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from '../parts.js';
import { choosePlace } from '../policy.js';
import type { MemoryRecord, MemoryScope } from '../stores/memories.js';
import { requireReach, rightsOf } from './access.js';

type PlaceOfMemory = Pick<MemoryRecord, 'scope' | 'tenant' | 'orgId' | 'workspaceId' | 'userId'>;

interface RequestedPlace {
  readonly scope: MemoryScope;
  readonly workspaceId?: string | undefined;
  readonly orgId?: string | undefined;
}

/** Returns the place of a new memory. Throws unless the caller may write there. */
export async function choosePlaceOfMemory(
  parts: Parts,
  requested: RequestedPlace,
  context: CallContext,
): Promise<PlaceOfMemory> {
  const place = await placeOf(parts, requested, context);
  requireReach(context.caller, place);
  const rights = await rightsOf(parts, context, (known) => known.canWrite(place));
  if (!rights.canWrite(place)) throw InsufficientRole();
  return place;
}

async function placeOf(
  parts: Parts,
  { scope, workspaceId, orgId }: RequestedPlace,
  context: CallContext,
): Promise<PlaceOfMemory> {
  const { caller } = context;
  if (workspaceId !== undefined && scope !== 'workspace') throw misplaced('workspace_id', 'workspace');
  if (orgId !== undefined && scope !== 'org') throw misplaced('org_id', 'org');
  if (scope === 'workspace') return { scope, ...(await choosePlace(parts, { workspaceId }, context)) };
  const ownOrg = caller.tenant?.orgId ?? undefined;
  if (scope === 'user') {
    return { scope, tenant: ownOrg ?? homeOf(caller.userId), orgId: ownOrg ?? '', userId: caller.userId };
  }
  const chosen = orgId ?? ownOrg;
  if (chosen === undefined) throw invalidField('org_id', 'missing_field', 'is required for the scope org.');
  return { scope, ...(await choosePlace(parts, { orgId: chosen }, context)) };
}

function misplaced(param: string, scope: string) {
  return invalidField(param, 'ambiguous_target', `can only be sent with the scope ${scope}.`);
}
