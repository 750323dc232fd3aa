import type { CallContext } from '@commonplace/kit/rpc';
import { findPage, keyset, type Sort, timesWithin, type Where } from '@commonplace/kit/store';
import type { ListChatSessionsRequest } from '@commonplace/proto/agents/v1/chat_session_service.js';
import type { Page } from '@commonplace/proto/api/v1/page.js';
import { fold } from '../domain/fold.js';
import type { Parts } from '../parts.js';
import { placesReached, requireListedPlace } from '../policy.js';
import type { SessionRecord } from '../stores/sessions.js';

type ListParts = Pick<Parts, 'sessions' | 'memberships' | 'directory'>;

const NEWEST_FIRST: Sort<SessionRecord> = ['-lastMessageAt'];

const SORTS: Readonly<Record<string, Sort<SessionRecord>>> = {
  last_message_at: ['lastMessageAt'],
  '-last_message_at': NEWEST_FIRST,
  title: ['title'],
  '-title': ['-title'],
  created_at: ['createdAt'],
  '-created_at': ['-createdAt'],
  updated_at: ['updatedAt'],
  '-updated_at': ['-updatedAt'],
};

/** Returns a page of the caller's own sessions and those that are shared with them. */
export async function listSessions(
  parts: ListParts,
  request: ListChatSessionsRequest,
  context: CallContext,
): Promise<{ items: SessionRecord[]; page: Page }> {
  const visible = await visibleSessions(parts, request, context);
  const where = request.q === '' ? visible : { and: [visible, await titlesWith(parts, visible, request.q)] };
  return findPage(parts.sessions, where, SORTS[request.sort] ?? NEWEST_FIRST, request.page);
}

async function visibleSessions(
  parts: ListParts,
  request: ListChatSessionsRequest,
  context: CallContext,
): Promise<Where<SessionRecord>> {
  const { workspaceId, orgId, agentId, isArchived, createdBy } = request;
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
    ...(createdBy !== undefined && { ownerId: createdBy }),
    ...timesWithin(request),
  };
}

/** Number of sessions that are read together. */
const CHUNK = 500;
/** Maximum number of sessions of earlier versions whose titles a search looks at, the newest first. */
const MAX_EARLIER = 10_000;

/**
 * Returns the filter for sessions whose title contains a text. Sessions of earlier versions have no folded title, so
 * theirs are compared here.
 */
async function titlesWith(
  { sessions }: ListParts,
  visible: Where<SessionRecord>,
  q: string,
): Promise<Where<SessionRecord>> {
  const wanted = fold(q);
  const where: Where<SessionRecord> = { and: [visible, { titleFold: { exists: false } }] };
  const ids: string[] = [];
  for (let read = 0, after: ReturnType<typeof keyset> | undefined; read < MAX_EARLIER; read += CHUNK) {
    const found = await sessions.find({ where, sort: NEWEST_FIRST, limit: CHUNK, ...(after && { after }) });
    ids.push(...found.filter(({ title }) => fold(title).includes(wanted)).map(({ id }) => id));
    const last = found.at(-1);
    if (last === undefined || found.length < CHUNK) break;
    after = keyset(last, NEWEST_FIRST);
  }
  return { or: [{ titleFold: { substring: wanted } }, ...(ids.length === 0 ? [] : [{ id: { in: ids } }])] };
}
