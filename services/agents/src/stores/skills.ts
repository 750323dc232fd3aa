import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** What a skill of an agent contains, by `skillContentId`: the same content is stored once, whatever version uses it. */
export interface SkillContentRecord extends StoredRecord {
  readonly tenant: string;
  readonly agentId: string;
  readonly hash: string;
  /** Markdown; empty if a document is used live. */
  readonly content: string;
  /** Files that are stored here. */
  readonly files: readonly StoredSkillFile[];
}

export interface StoredSkillFile {
  readonly path: string;
  readonly content: string;
}

export const skillContentCollection: CollectionSpec<SkillContentRecord> = {
  name: 'skill_contents',
  indexes: [{ fields: ['agentId'] }, { fields: ['tenant'] }],
};

export const skillContentId = (agentId: string, hash: string): string => `${agentId}:${hash}`;
