import { type Fault, InsufficientRole, invalidField, invalidFields, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { isBlank } from '@commonplace/kit/words';
import type { UpdateMemoryRequest } from '@commonplace/proto/agents/v1/memory_service.js';
import type { Parts } from '../parts.js';
import { readableAmong } from '../readable.js';
import type { MemoryRecord } from '../stores/memories.js';
import { kindOf } from '../wire/memories.js';
import { readMetadata } from '../wire/metadata.js';
import type { MemoryRights } from './access.js';
import { requireSubject } from './agents.js';
import type { MemoryChange } from './write.js';

/** Returns the ids of resources without duplicates. Throws `NotFound` unless the caller can read all of them. */
export async function readableSources(
  parts: Pick<Parts, 'index'>,
  ids: readonly string[],
  context: CallContext,
): Promise<string[]> {
  const unique = [...new Set(ids)];
  if (unique.length === 0) return [];
  const readable = await readableAmong(parts, unique, context);
  const at = ids.findIndex((id) => !readable.has(id));
  if (at >= 0) throw NotFound({}, { param: `source_resource_ids[${at}]` });
  return unique;
}

/** Throws for a text that consists of white space. */
export function requireText(content: string): void {
  if (isBlank(content)) throw invalidField('content', 'invalid_value', 'content must not be empty.');
}

/** Returns the metadata of a request; undefined if there is none. Throws `invalid_value` if it is too large. */
export function metadataOf({ settings }: Pick<Parts, 'settings'>, bytes: Buffer): Record<string, unknown> | undefined {
  const faults: Fault[] = [];
  const metadata = readMetadata(bytes, settings.memoryMetadataBytes, faults);
  if (faults.length > 0) throw invalidFields(faults);
  return metadata;
}

export function requireFuture(expiresAt: string | undefined): void {
  if (expiresAt !== undefined && expiresAt <= new Date().toISOString()) {
    throw invalidField('expires_at', 'invalid_value', 'must be in the future.');
  }
}

/** Returns the changes of a PATCH. Throws if the caller may not make them. */
export async function changeOf(
  parts: Pick<Parts, 'index' | 'settings' | 'agents' | 'memberships'>,
  request: UpdateMemoryRequest,
  before: MemoryRecord,
  rights: MemoryRights,
  context: CallContext,
): Promise<MemoryChange> {
  const mask = new Set(request.updateMask ?? []);
  const { content, importance, isPinned, isActive, tags, sourceResourceIds } = request;
  if (content !== undefined) requireText(content);
  if (mask.has('expires_at')) requireFuture(request.expiresAt);
  const hasNewSubject = mask.has('subject_user_id') && request.subjectUserId !== before.subjectId;
  if (hasNewSubject) await requireNewSubject(parts, request.subjectUserId, before, rights, context);
  const metadata = metadataOf(parts, request.metadata);
  const sourceIds = sourceResourceIds && (await readableSources(parts, sourceResourceIds.items, context));
  const kind = kindOf(request.kind);
  return {
    // A text that a person has written is trusted, even if it replaces an untrusted one.
    ...(content !== undefined && { content, ...(content !== before.content && { isTainted: false }) }),
    ...(kind !== undefined && { kind }),
    ...(tags !== undefined && { tags: [...new Set(tags.items)] }),
    ...(importance !== undefined && { importance }),
    ...(isPinned !== undefined && { isPinned }),
    ...(isActive !== undefined && { status: isActive ? ('active' as const) : ('inactive' as const) }),
    ...(sourceIds !== undefined && { sourceIds }),
    ...(metadata !== undefined && { metadata }),
    ...(mask.has('expires_at') && { expiresAt: request.expiresAt }),
    ...(hasNewSubject && { subjectId: request.subjectUserId }),
  };
}

/** Throws unless the caller may set the subject of a memory, which only the owner of the agent may. */
async function requireNewSubject(
  parts: Pick<Parts, 'agents' | 'memberships'>,
  subjectId: string | undefined,
  memory: MemoryRecord,
  rights: MemoryRights,
  context: CallContext,
): Promise<void> {
  if (memory.scope !== 'agent') {
    throw invalidField('subject_user_id', 'invalid_value', 'is only allowed for memories of agents.');
  }
  if (!rights.administers(memory)) throw InsufficientRole();
  const agent = await parts.agents.get(memory.agentId ?? '');
  if (agent === undefined) throw NotFound();
  if (subjectId !== undefined) await requireSubject(parts, agent, subjectId, context);
}
