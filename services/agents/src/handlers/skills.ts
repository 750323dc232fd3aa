import { AppError, type Fault, invalidFields } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { isWithinTimes, pageInOrder, wholeList } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { Skill } from '@commonplace/proto/agents/v1/skill.js';
import { SkillInclude, type SkillService } from '@commonplace/proto/agents/v1/skill_service.js';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import { openAgent, seeAgent } from '../agents/access.js';
import { promptChanges, writeVersion } from '../agents/versions.js';
import type { Parts } from '../parts.js';
import { type GivenSkill, readSkills } from '../skills/read.js';
import { requireReadable, storeContents, withContents } from '../skills/store.js';
import type { AgentRecord } from '../stores/agents.js';
import { skillMessage } from '../wire/skills.js';

export function createSkillHandlers(parts: Parts): Handlers<SkillService> {
  return {
    async listSkills({ agentId, include, page, q, ...times }, context) {
      const { agent, mayUse } = await seeAgent(parts, agentId, context);
      const skills = agent.skills.filter(
        (one) => foldName(one.name).includes(foldName(q)) && isWithinTimes(one, times),
      );
      return present(parts, { ...agent, skills }, page, mayUse && include.includes(SkillInclude.CONTENT));
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
      const given = await readSkills(inputs, { agent, limits: parts.settings, skillFiles: parts.skillFiles }, faults);
      if (faults.length > 0) throw invalidFields(faults);
      await requireReadable(parts, given, context);
      requireVersion(context, agent.version, agent);
      const after = await replace(parts, agent, given, context);
      return present(parts, after, wholeList(after.skills), false);
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
  const changedNow = { updatedBy: context.actor, updatedAt: new Date().toISOString() };
  const after = { ...before, skills, ...changedNow, promptVersion: before.version + 1 };
  const agent = context.work.replace(parts.agents, before, after);
  await storeContents(parts, agent, given, context);
  await writeVersion(parts, agent, ['skills'], context);
  const data = { agentId: agent.id, orgId: agent.orgId, changedFields: ['skills'] };
  context.work.publish(context.event('agent.updated', agent.id, data, agent.tenant));
  return agent;
}

/** Returns a page of the skills of an agent. It ends early if their contents are too large together. */
async function present(
  parts: Parts,
  { id, skills }: AgentRecord,
  request: PageRequest | undefined,
  withContent: boolean,
): Promise<{ items: Skill[]; page: Page }> {
  const { items, page } = pageInOrder(request, skills);
  if (!withContent) return { items: items.map((skill) => skillMessage(skill)), page };
  const shown = await withContents(parts, id, items);
  if (shown.length === items.length) return { items: shown, page };
  const { offset = 0, cursor = '' } = request ?? {};
  const short = pageInOrder({ limit: shown.length, offset, cursor }, skills);
  return { items: shown, page: { ...short.page, limit: page.limit } };
}
