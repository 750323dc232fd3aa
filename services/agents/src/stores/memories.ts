import type { Actor } from '@commonplace/kit/auth';
import { fingerprint } from '@commonplace/kit/id';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type MemoryScope = 'user' | 'workspace' | 'org' | 'agent';
export type MemoryKind = 'fact' | 'preference' | 'instruction' | 'episode' | 'summary';
export type MemoryStatus = 'active' | 'proposed' | 'inactive';
export type MemorySourceType = 'manual' | 'chat' | 'agent_run' | 'import';

/** An earlier text, and the resources from which it was drawn. */
export interface Revision {
  readonly content: string;
  readonly sourceIds: readonly string[];
  readonly changedBy: Actor;
  readonly changedAt: string;
}

/** Something that agents and people are to remember, with all that it is found by: it is gone when its record is. */
export interface MemoryRecord extends StoredRecord {
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly scope: MemoryScope;
  /** What it belongs to, see `holderOf`: limits and duplicates are counted there. */
  readonly holder: string;
  /** Of scope `user`: whose it is. */
  readonly userId?: string | undefined;
  readonly workspaceId?: string | undefined;
  readonly agentId?: string | undefined;
  /** Of scope `agent`: whom it concerns. */
  readonly subjectId?: string | undefined;
  readonly content: string;
  /** Identifies the normalised text within its holder and subject. */
  readonly textKey: string;
  /** Terms of the text as `termWithin` writes them, so that finding one costs no more than its holder has. */
  readonly terms: readonly string[];
  readonly kind: MemoryKind;
  readonly tags: readonly string[];
  readonly importance: number;
  readonly isPinned: boolean;
  /** Sorts pinned ones after others, and later ones after earlier ones. */
  readonly place: string;
  readonly status: MemoryStatus;
  /** Whether the text is of a run that had read untrusted content, and no person has written it anew. */
  readonly isTainted: boolean;
  readonly source: { readonly type: MemorySourceType; readonly id?: string | undefined };
  readonly sourceIds: readonly string[];
  /** Calls of the tool that have appended to it, the last ones: none does so twice. */
  readonly appendedBy?: readonly string[] | undefined;
  /** Present if there are sources. */
  readonly hasSources?: true | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly revisions: readonly Revision[];
  /** Counted without a new version, since a use is no change. */
  readonly usedCount: number;
  /** Epoch milliseconds; 0 if it was never used. */
  readonly lastUsedMs: number;
  readonly expiresAt?: string | undefined;
  /** The person, whatever their credential. */
  readonly creatorId: string;
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const memoryCollection: CollectionSpec<MemoryRecord> = {
  name: 'memories',
  indexes: [
    { fields: ['holder', 'place'] },
    { fields: ['subjectId', 'place'] },
    { fields: ['agentId', 'subjectId'] },
    { fields: ['textKey'], unique: true },
    { fields: ['workspaceId'], sparse: true },
    { fields: ['terms'], many: true },
    { fields: ['userId'], sparse: true },
    { fields: ['tenant'] },
    { fields: ['expiresAt'], sparse: true },
  ],
  expires: 'expiresAt',
};

/** Returns the holder of the memories of a person in one tenant. */
export const holderOfUser = (userId: string, tenant: string): string => `user:${userId}:${tenant}`;
export const holderOfWorkspace = (workspaceId: string): string => `workspace:${workspaceId}`;
export const holderOfOrg = (orgId: string): string => `org:${orgId}`;
export const holderOfAgent = (agentId: string): string => `agent:${agentId}`;

export const placeOf = (isPinned: boolean, createdAt: string): string => `${isPinned ? 1 : 0}:${createdAt}`;

/** Returns a term of a text as it is stored for a holder. */
export function termWithin(holder: string): (term: string) => string {
  const mark = fingerprint(holder).slice(0, 10);
  return (term) => `${mark}${term}`;
}
