import { NotFound } from '@commonplace/kit/errors';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { Parts } from '../parts.js';
import type { AgentRecord, PinnedSkill } from '../stores/agents.js';
import { type SkillContentRecord, skillContentId } from '../stores/skills.js';
import type { GivenSkill } from './read.js';

type SkillParts = Pick<Parts, 'skillContents' | 'index'>;

/** Stores the contents of skills that are not stored yet, in the unit of work of a call. */
export async function storeContents(
  { skillContents }: SkillParts,
  { id: agentId, tenant }: Pick<AgentRecord, 'id' | 'tenant'>,
  given: readonly GivenSkill[],
  { work }: Pick<CallContext, 'work'>,
): Promise<void> {
  const contents = new Map(given.map(({ stored }) => [stored.hash, stored]));
  for (const stored of contents.values()) {
    const id = skillContentId(agentId, stored.hash);
    const before = await work.get(skillContents, id);
    if (before === undefined) work.insert(skillContents, { id, tenant, agentId, ...stored });
    // Makes the commit fail if a concurrent change deletes the content.
    else work.expect(skillContents, before);
  }
}

/** Returns the stored contents of skills, by hash. */
export async function contentsOf(
  { skillContents }: Pick<SkillParts, 'skillContents'>,
  agentId: string,
  skills: readonly Pick<PinnedSkill, 'contentHash'>[],
): Promise<ReadonlyMap<string, SkillContentRecord>> {
  const ids = [...new Set(skills.map(({ contentHash }) => skillContentId(agentId, contentHash)))];
  const found = await skillContents.getMany(ids);
  return new Map(found.map((record) => [record.hash, record]));
}

const CHUNK = 200;

/** Throws `NotFound` unless the caller can read every document that skills refer to. */
export async function requireReadable(
  { index }: Pick<SkillParts, 'index'>,
  given: readonly GivenSkill[],
  { onward }: Pick<CallContext, 'onward'>,
): Promise<void> {
  const named = given.flatMap(({ skill: { resourceId, files } }, i) => [
    ...(resourceId === undefined ? [] : [{ id: resourceId, param: `skills[${i}].resource_id`, isText: true }]),
    ...files.flatMap((file, j) =>
      file.resourceId === undefined
        ? []
        : [{ id: file.resourceId, param: `skills[${i}].files[${j}].resource_id`, isText: false }],
    ),
  ]);
  const types = await typesOf(
    index,
    named.map(({ id }) => id),
    onward,
  );
  for (const { id, param, isText } of named) {
    const type = types.get(id);
    if (type === undefined || (isText && type !== ResourceType.DOCUMENT)) throw NotFound({}, { param });
  }
}

async function typesOf(
  index: SkillParts['index'],
  ids: readonly string[],
  onward: CallOptions,
): Promise<ReadonlyMap<string, ResourceType>> {
  const unique = [...new Set(ids)];
  const types = new Map<string, ResourceType>();
  for (let at = 0; at < unique.length; at += CHUNK) {
    const { resources } = await index.checkAccess({ ids: unique.slice(at, at + CHUNK) }, onward);
    for (const { id, type } of resources) types.set(id, type);
  }
  return types;
}
