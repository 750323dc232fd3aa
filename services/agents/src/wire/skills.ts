import { jsonBytes } from '@commonplace/kit/json';
import { type Skill, SkillSource } from '@commonplace/proto/agents/v1/skill.js';
import type { PinnedSkill } from '../stores/agents.js';
import type { SkillContentRecord } from '../stores/skills.js';

/** Converts a skill; with `stored` it includes the stored contents. */
export function skillMessage(skill: PinnedSkill, stored?: SkillContentRecord): Skill {
  const contents = new Map(stored?.files.map(({ path, content }) => [path, content]));
  const isInline = skill.resourceId === undefined;
  return {
    id: skill.id,
    name: skill.name,
    description: skill.description,
    content: isInline ? stored?.content : undefined,
    files: skill.files.map(({ path, resourceId }) => ({ path, resourceId, content: contents.get(path) })),
    allowedTools: [...skill.allowedTools],
    license: skill.license,
    metadata: jsonBytes(skill.metadata),
    isEnabled: skill.isEnabled,
    source: isInline ? SkillSource.INLINE : SkillSource.RESOURCE,
    resourceId: skill.resourceId,
    contentHash: skill.contentHash,
    updatedAt: skill.updatedAt,
  };
}
