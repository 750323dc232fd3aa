import { AppError, type Fault, invalidFields } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import type { Skill } from '@commonplace/proto/agents/v1/skill.js';
import { SkillInclude, type SkillService } from '@commonplace/proto/agents/v1/skill_service.js';
import { openAgent, seeAgent } from '../agents/access.js';
import { promptChanges, writeVersion } from '../agents/versions.js';
import type { Parts } from '../parts.js';
import { type GivenSkill, readSkills } from '../skills/read.js';
import { contentsOf, requireReadable, storeContents } from '../skills/store.js';
import type { AgentRecord } from '../stores/agents.js';
import { skillMessage } from '../wire/skills.js';

export function createSkillHandlers(parts: Parts): Handlers<SkillService> {
  return {
    async listSkills({ agentId, include }, context) {
      const { agent, mayUse } = await seeAgent(parts, agentId, context);
      return { items: await present(parts, agent, mayUse && include.includes(SkillInclude.CONTENT)) };
    },

    async replaceSkills({ agentId, skills }, context) {
      const agent = await openAgent(parts, agentId, context);
      const inputs = skills?.items ?? [];
      const limit = parts.settings.agentSkills;
      if (inputs.length > limit) {
        const message = `skills may have ${limit} items.`;
        throw new AppError('INVALID_ARGUMENT', 'too_many_items', message, { param: 'skills' });
      }
      const faults: Fault[] = [];
      const given = readSkills(inputs, agent.skills, parts.settings, faults);
      if (faults.length > 0) throw invalidFields(faults);
      await requireReadable(parts, given, context);
      requireVersion(context, agent.version, agent);
      return { items: await present(parts, await replace(parts, agent, given, context), false) };
    },
  };
}

async function replace(
  parts: Parts,
  before: AgentRecord,
  given: readonly GivenSkill[],
  context: CallContext,
): Promise<AgentRecord> {
  const skills = given.map(({ skill }) => skill);
  if (promptChanges(before, { ...before, skills }).length === 0) return before;
  const updatedAt = new Date().toISOString();
  const after = { ...before, skills, updatedAt, promptVersion: before.version + 1 };
  const agent = context.work.replace(parts.agents, before, after);
  await storeContents(parts, agent, given, context);
  await writeVersion(parts, agent, ['skills'], context);
  const data = { agentId: agent.id, orgId: agent.orgId, changedFields: ['skills'] };
  context.work.publish(context.event('agent.updated', agent.id, data, agent.tenant));
  return agent;
}

async function present(parts: Parts, { id, skills }: AgentRecord, withContent: boolean): Promise<Skill[]> {
  const stored = withContent ? await contentsOf(parts, id, skills) : undefined;
  return skills.map((skill) => skillMessage(skill, stored?.get(skill.contentHash)));
}
