import { jsonBytes } from '@commonplace/kit/json';
import { actorMessage } from '@commonplace/platform/actors';
import { enumValue, specifiedName } from '@commonplace/platform/enums';
import {
  type Memory,
  MemoryKind,
  MemoryScope,
  MemorySourceType,
  MemoryStatus,
} from '@commonplace/proto/agents/v1/memory.js';
import type { Readable } from '../readable.js';
import type * as records from '../stores/memories.js';

export const kindOf = (kind: MemoryKind) => specifiedName<records.MemoryKind>(kind, 'MEMORY_KIND');
export const statusOf = (status: MemoryStatus) => specifiedName<records.MemoryStatus>(status, 'MEMORY_STATUS');
export const scopeOf = (scope: MemoryScope) => specifiedName<records.MemoryScope>(scope, 'MEMORY_SCOPE');

/** The parts of a memory's message that depend on the reader. */
interface MemoryView {
  readonly readable: Readable;
  readonly isReadOnly: boolean;
  readonly withRevisions?: boolean;
}

/** Returns the ids of the resources that presenting memories needs. */
export function resourcesOf(memories: readonly records.MemoryRecord[]): string[] {
  return [
    ...new Set(
      memories.flatMap(({ sourceIds, revisions }) => [...sourceIds, ...revisions.flatMap((one) => one.sourceIds)]),
    ),
  ];
}

/** Returns whether a reader can read all sources of a text. */
export function isOpen({ sourceIds }: Pick<records.MemoryRecord, 'sourceIds'>, readable: Readable): boolean {
  return sourceIds.every((id) => readable.has(id));
}

export function memoryMessage(
  memory: records.MemoryRecord,
  { readable, isReadOnly, withRevisions }: MemoryView,
): Memory {
  const open = isOpen(memory, readable);
  return {
    id: memory.id,
    scope: enumValue(MemoryScope, memory.scope),
    workspaceId: memory.workspaceId,
    orgId: memory.orgId || undefined,
    agentId: memory.agentId,
    subjectUserId: memory.subjectId,
    content: open ? memory.content : '',
    kind: enumValue(MemoryKind, memory.kind),
    tags: open ? [...memory.tags] : [],
    importance: memory.importance,
    isPinned: memory.isPinned,
    isActive: memory.status === 'active',
    status: enumValue(MemoryStatus, memory.status),
    isReadOnly: isReadOnly || !open,
    source: { type: enumValue(MemorySourceType, memory.source.type), id: memory.source.id },
    sourceResourceIds: memory.sourceIds.filter((id) => readable.has(id)),
    usedCount: memory.usedCount,
    lastUsedAt: memory.lastUsedMs === 0 ? undefined : new Date(memory.lastUsedMs).toISOString(),
    expiresAt: memory.expiresAt,
    metadata: jsonBytes(open ? memory.metadata : {}),
    revisions: withRevisions && open ? memory.revisions.filter((one) => isOpen(one, readable)).map(revision) : [],
    createdBy: actorMessage(memory.createdBy),
    createdAt: memory.createdAt,
    updatedAt: memory.updatedAt,
    version: memory.version,
    withheld: !open,
  };
}

const revision = ({ content, changedBy, changedAt }: records.Revision) => ({
  content,
  changedBy: actorMessage(changedBy),
  changedAt,
});
