import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** The content of a skill, by `skillContentId`. The same content is stored once for all versions of an agent. */
export interface SkillContentRecord extends StoredRecord {
  readonly tenant: string;
  readonly agentId: string;
  readonly hash: string;
  /** Markdown; empty if a document is read live. */
  readonly content: string;
  /** The files with stored content. */
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
