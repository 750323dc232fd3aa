import type { Actor } from '@commonplace/kit/auth';
import { fingerprint } from '@commonplace/kit/id';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type MemoryScope = 'user' | 'workspace' | 'org' | 'agent';
export type MemoryKind = 'fact' | 'preference' | 'instruction' | 'episode' | 'summary';
export type MemoryStatus = 'active' | 'proposed' | 'inactive';
type MemorySourceType = 'manual' | 'chat' | 'agent_run' | 'import';

/** An earlier text, with the resources that it was drawn from. */
export interface Revision {
  readonly content: string;
  readonly sourceIds: readonly string[];
  readonly changedBy: Actor;
  readonly changedAt: string;
}

/** A memory of agents and people. The record contains its search terms too, so that deleting it erases everything. */
export interface MemoryRecord extends StoredRecord {
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly scope: MemoryScope;
  /** The holder, which limits and duplicates are counted by; see `holderOf`. */
  readonly holder: string;
  /** The owner, for the scope `user`. */
  readonly userId?: string | undefined;
  readonly workspaceId?: string | undefined;
  readonly agentId?: string | undefined;
  /** The person whom it concerns, for the scope `agent`. */
  readonly subjectId?: string | undefined;
  readonly content: string;
  /** Identifies the normalised text within its holder and subject. */
  readonly textKey: string;
  /** The search terms, prefixed by `termWithin`, so that a search reads only the holder's terms. */
  readonly terms: readonly string[];
  readonly kind: MemoryKind;
  readonly tags: readonly string[];
  readonly importance: number;
  readonly isPinned: boolean;
  /** The sort key: pinned memories after others, and later ones after earlier ones. */
  readonly place: string;
  readonly status: MemoryStatus;
  /** Whether a run that had read untrusted content wrote the text, and no person has rewritten it. */
  readonly isTainted: boolean;
  readonly source: { readonly type: MemorySourceType; readonly id?: string | undefined };
  readonly sourceIds: readonly string[];
  /** The latest calls of the tool that have appended, so that none appends twice. */
  readonly appendedBy?: readonly string[] | undefined;
  /** Present if there are sources. */
  readonly hasSources?: true | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly revisions: readonly Revision[];
  /** Counted without a new version, since a use is not a change. */
  readonly usedCount: number;
  /** Epoch milliseconds; 0 if it was never used. */
  readonly lastUsedMs: number;
  readonly expiresAt?: string | undefined;
  /** The person who created it, also if an agent or a key acted for them. */
  readonly creatorId: string;
  readonly createdBy: Actor;
  /** Who has changed it last; absent in records of earlier versions. */
  readonly updatedBy?: Actor | undefined;
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

/** Returns the holder for the memories of a person in one tenant. */
export const holderOfUser = (userId: string, tenant: string): string => `user:${userId}:${tenant}`;
export const holderOfWorkspace = (workspaceId: string): string => `workspace:${workspaceId}`;
export const holderOfOrg = (orgId: string): string => `org:${orgId}`;
export const holderOfAgent = (agentId: string): string => `agent:${agentId}`;

export const placeOf = (isPinned: boolean, createdAt: string): string => `${isPinned ? 1 : 0}:${createdAt}`;

/** Returns a function that converts a term into its stored form for a holder. */
export function termWithin(holder: string): (term: string) => string {
  const mark = fingerprint(holder).slice(0, 10);
  return (term) => `${mark}${term}`;
}
