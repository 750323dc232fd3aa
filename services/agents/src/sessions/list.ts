import type { CallContext } from '@commonplace/kit/rpc';
import { findPage, type Sort, sortsBy, timesWithin, type Where } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { ListChatSessionsRequest } from '@commonplace/proto/agents/v1/chat_session_service.js';
import type { Page } from '@commonplace/proto/api/v1/page.js';
import type { Parts } from '../parts.js';
import { placesReached, requireListedPlace } from '../policy.js';
import type { SessionRecord } from '../stores/sessions.js';

type ListParts = Pick<Parts, 'sessions' | 'memberships' | 'directory'>;

const NEWEST_FIRST: Sort<SessionRecord> = ['-lastMessageAt'];

const SORTS = sortsBy<SessionRecord>({
  last_message_at: 'lastMessageAt',
  title: 'titleFold',
  created_at: 'createdAt',
  updated_at: 'updatedAt',
});

/** Returns a page of the caller's own sessions and those that are shared with them. */
export async function listSessions(
  parts: ListParts,
  request: ListChatSessionsRequest,
  context: CallContext,
): Promise<{ items: SessionRecord[]; page: Page }> {
  const where = await visibleSessions(parts, request, context);
  return findPage(parts.sessions, where, SORTS[request.sort] ?? NEWEST_FIRST, request.page);
}

async function visibleSessions(
  parts: ListParts,
  request: ListChatSessionsRequest,
  context: CallContext,
): Promise<Where<SessionRecord>> {
  const { workspaceId, orgId, agentId, isArchived, q, createdBy } = request;
  await requireListedPlace(parts, request, context);
  const { caller, onward } = context;
  const { workspaceIds, orgIds } = placesReached(await parts.memberships.fresh(caller.userId, onward), caller);
  const [own, shared] = [{ ownerId: caller.userId }, { visibility: 'workspace' }] as const;
  const inWorkspaces: Where<SessionRecord> = { workspaceId: { in: workspaceIds } };
  const aboutOrgs: Where<SessionRecord> = { workspaceId: { exists: false }, orgId: { in: orgIds } };
  const either = [own, shared].flatMap((whose) => [inWorkspaces, aboutOrgs].map((where) => ({ ...whose, ...where })));
  return {
    or: either,
    ...(workspaceId !== undefined && { workspaceId }),
    ...(orgId !== undefined && { orgId }),
    ...(agentId !== undefined && { agentId }),
    ...(isArchived !== undefined && { isArchived }),
    ...(q !== '' && { titleFold: { substring: foldName(q) } }),
    ...(createdBy !== undefined && { ownerId: createdBy }),
    ...timesWithin(request),
  };
}
