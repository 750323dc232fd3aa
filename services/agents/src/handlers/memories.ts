import { InsufficientRole, invalidField, NotFound, NoUpdateField, WorkspaceArchived } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { requireCursor, type Where } from '@commonplace/kit/store';
import type { Memory } from '@commonplace/proto/agents/v1/memory.js';
import type {
  CreateAgentMemoryRequest,
  CreateMemoryRequest,
  DeleteAgentMemoriesRequest,
  ListAgentMemoriesRequest,
  ListMemoriesRequest,
  MemoryService,
} from '@commonplace/proto/agents/v1/memory_service.js';
import { type MemoryRights, rightsOf, seeMemory } from '../memories/access.js';
import { agentFor, requireSubject } from '../memories/agents.js';
import { eraseMemories } from '../memories/erase.js';
import { listMemories, type MemoryFilter } from '../memories/list.js';
import { choosePlaceOfMemory } from '../memories/place.js';
import { changeOf, metadataOf, readableSources, requireFuture, requireText } from '../memories/requests.js';
import { addMemory, changeMemory, type MemoryDraft, type SeesSources } from '../memories/write.js';
import type { Parts } from '../parts.js';
import { requireListedPlace } from '../policy.js';
import { readableAmong } from '../readable.js';
import type { MemoryRecord } from '../stores/memories.js';
import { isOpen, kindOf, memoryMessage, resourcesOf, scopeOf, statusOf } from '../wire/memories.js';

export function createMemoryHandlers(parts: Parts): Handlers<MemoryService> {
  return {
    async listMemories(request, context) {
      const { scope, workspaceId, orgId, agentId } = request;
      await requireListedPlace(parts, request, context);
      const filter = { ...commonFilter(request), scope: scopeOf(scope), workspaceId, orgId, agentId };
      return list(parts, filter, request.page, context);
    },

    async createMemory(request, context) {
      const place = await choosePlaceOfMemory(parts, { ...request, scope: scopeOf(request.scope) ?? 'user' }, context);
      return create(parts, { ...(await contentOf(parts, request, context)), ...place }, context);
    },

    async getMemory({ memoryId }, context) {
      const { memory, rights } = await seeMemory(parts, memoryId, context);
      return present(parts, memory, rights, context);
    },

    async updateMemory(request, context) {
      const { memory, rights } = await seeMemory(parts, request.memoryId, context, (known, about) =>
        known.canChange(about),
      );
      if ((request.updateMask ?? []).length === 0) throw NoUpdateField();
      if (!rights.canChange(memory)) throw InsufficientRole();
      if (rights.isArchived(memory)) throw WorkspaceArchived();
      requireVersion(context, memory.version, memory);
      // Otherwise a caller who cannot read the memory's sources could remove them.
      if (!(await seesSources(parts, context)(memory))) throw InsufficientRole();
      const change = await changeOf(parts, request, memory, rights, context);
      const changed = await changeMemory(
        parts,
        memory,
        change,
        context.actor,
        context.work,
        seesSources(parts, context),
      );
      return present(parts, changed, rights, context);
    },

    async deleteMemory({ memoryId }, context) {
      const { memory, rights } = await seeMemory(parts, memoryId, context, (known, about) => known.canDelete(about));
      if (!rights.canDelete(memory)) throw InsufficientRole();
      if (rights.isArchived(memory)) throw WorkspaceArchived();
      requireVersion(context, memory.version, memory);
      context.work.remove(parts.memories, memory);
      return { id: memoryId, deleted: true };
    },

    async listAgentMemories(request, context) {
      const { agentId, page, subjectUserId: subjectId } = request;
      requireCursor(page);
      await agentFor(parts, agentId, context);
      const filter = { ...commonFilter(request), scope: 'agent', agentId, subjectId } as const;
      return list(parts, filter, page, context);
    },

    async createAgentMemory(request, context) {
      const agent = await agentFor(parts, request.agentId, context);
      if (agent.ownerId !== context.caller.userId) throw InsufficientRole();
      const { id: agentId, tenant, orgId } = agent;
      const { subjectUserId } = request;
      if (subjectUserId !== undefined) await requireSubject(parts, agent, subjectUserId, context);
      const place = { scope: 'agent', tenant, orgId, agentId, subjectId: subjectUserId } as const;
      return create(parts, { ...(await contentOf(parts, request, context)), ...place }, context);
    },

    async deleteAgentMemories(request, context) {
      const agent = await agentFor(parts, request.agentId, context);
      const isOwner = agent.ownerId === context.caller.userId;
      requireOneSelector(request);
      const { memoryId } = request;
      if (memoryId === undefined) {
        const where = whichOf(request, isOwner, context.caller.userId);
        context.acts();
        return { deletedCount: await eraseMemories(parts, { and: [{ agentId: agent.id, scope: 'agent' }, where] }) };
      }
      const memory = await context.work.get(parts.memories, memoryId);
      const isTheirs = isOwner || memory?.subjectId === context.caller.userId;
      if (memory?.agentId !== agent.id || !isTheirs) throw NotFound({}, { param: 'memory_id' });
      requireVersion(context, memory.version, memory);
      context.work.remove(parts.memories, memory);
      return { deletedCount: 1 };
    },
  };
}

/** Throws if a request selects the memories that it deletes in several ways, which may mean different ones. */
function requireOneSelector({ memoryId, ids, all, subjectUserId }: DeleteAgentMemoriesRequest): void {
  const given = {
    memory_id: memoryId !== undefined,
    ids: ids.length > 0,
    subject_user_id: subjectUserId !== undefined,
    all,
  };
  const [, second] = Object.entries(given).flatMap(([name, isGiven]) => (isGiven ? [name] : []));
  if (second !== undefined)
    throw invalidField(second, 'ambiguous_target', 'must not be combined with another selector.');
}

/**
 * Returns the filter for the memories of an agent that a request deletes. A caller who does not own the agent can
 * delete only memories about themselves.
 */
function whichOf(
  { ids, all, subjectUserId }: DeleteAgentMemoriesRequest,
  isOwner: boolean,
  userId: string,
): Where<MemoryRecord> {
  const own = isOwner ? {} : { subjectId: userId };
  if (ids.length > 0) return { ...own, id: { in: ids } };
  if (subjectUserId !== undefined) {
    if (!isOwner && subjectUserId !== userId) throw InsufficientRole();
    return { subjectId: subjectUserId };
  }
  if (!all) throw invalidField('all', 'missing_target', 'must be true if nothing else selects the memories.');
  if (!isOwner) throw InsufficientRole();
  return {};
}

/** Returns the filters that both lists of memories have. */
function commonFilter(request: ListMemoriesRequest | ListAgentMemoriesRequest) {
  const { kind, status, q, tag, createdBy: creatorId, sort } = request;
  return { kind: kindOf(kind), status: statusOf(status), q, tag, creatorId, times: request, sort };
}

async function list(
  parts: Parts,
  filter: MemoryFilter,
  request: Parameters<typeof listMemories>[3],
  context: CallContext,
) {
  const rights = await rightsOf(parts, context);
  const { items, page } = await listMemories(parts, rights, filter, request, context);
  const readable = await readableAmong(parts, resourcesOf(items), context);
  const view = (memory: MemoryRecord) => ({ readable, isReadOnly: isReadOnly(rights, memory) });
  return { items: items.map((memory) => memoryMessage(memory, view(memory))), page };
}

/** Returns the content of a new memory from a request, without its place. */
async function contentOf(
  parts: Parts,
  request: CreateMemoryRequest | CreateAgentMemoryRequest,
  context: CallContext,
): Promise<Omit<MemoryDraft, 'scope' | 'tenant' | 'orgId'>> {
  const { content, kind, tags, importance, expiresAt, isPinned, metadata, sourceResourceIds } = request;
  requireText(content);
  requireFuture(expiresAt);
  return {
    ...{ content, kind: kindOf(kind) ?? 'fact', tags: [...new Set(tags)], importance: importance ?? 0.5, isPinned },
    ...{ expiresAt, metadata: metadataOf(parts, metadata) ?? {} },
    ...{ sourceIds: await readableSources(parts, sourceResourceIds, context), status: 'active', isTainted: false },
    ...{ source: { type: 'manual' }, creatorId: context.caller.userId, createdBy: context.actor },
  };
}

async function create(parts: Parts, draft: MemoryDraft, context: CallContext): Promise<Memory> {
  const { memory, isNew } = await addMemory(parts, draft, context.work, seesSources(parts, context));
  if (!isNew) context.reply.status = 200;
  return present(parts, memory, await rightsOf(parts, context, (known) => known.canChange(memory)), context);
}

/** Returns the check whether the caller can read all sources of a memory. */
function seesSources(parts: Parts, context: CallContext): SeesSources {
  return async (memory) => isOpen(memory, await readableAmong(parts, memory.sourceIds, context));
}

async function present(
  parts: Parts,
  memory: MemoryRecord,
  rights: MemoryRights,
  context: CallContext,
): Promise<Memory> {
  const readable = await readableAmong(parts, resourcesOf([memory]), context);
  return memoryMessage(memory, { readable, isReadOnly: isReadOnly(rights, memory), withRevisions: true });
}

const isReadOnly = (rights: MemoryRights, memory: MemoryRecord): boolean =>
  !rights.canChange(memory) || rights.isArchived(memory);
