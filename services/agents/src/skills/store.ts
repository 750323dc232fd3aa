import { NotFound } from '@commonplace/kit/errors';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import { MAX_PAGE_BYTES } from '@commonplace/kit/store';
import type { Skill } from '@commonplace/proto/agents/v1/skill.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { Parts } from '../parts.js';
import type { AgentRecord, PinnedSkill } from '../stores/agents.js';
import { type SkillContentRecord, skillContentId } from '../stores/skills.js';
import { skillMessage } from '../wire/skills.js';
import type { GivenSkill } from './read.js';

type SkillParts = Pick<Parts, 'skillContents' | 'index'>;

/** Stores the contents of skills that are not stored yet, in the unit of work of a call. */
export async function storeContents(
  { skillContents }: SkillParts,
  { id: agentId, tenant }: Pick<AgentRecord, 'id' | 'tenant'>,
  given: readonly GivenSkill[],
  { work }: Pick<CallContext, 'work'>,
): Promise<void> {
  const contents = new Map(given.flatMap(({ stored }) => (stored === undefined ? [] : [[stored.hash, stored]])));
  for (const stored of contents.values()) {
    const id = skillContentId(agentId, stored.hash);
    const before = await work.get(skillContents, id);
    if (before === undefined) work.insert(skillContents, { id, tenant, agentId, ...stored });
    // Makes the commit fail if a concurrent change deletes the content.
    else work.expect(skillContents, before);
  }
}

/** Returns the stored contents of skills, by hash. */
async function contentsOf(
  { skillContents }: Pick<SkillParts, 'skillContents'>,
  agentId: string,
  skills: readonly Pick<PinnedSkill, 'contentHash'>[],
): Promise<ReadonlyMap<string, SkillContentRecord>> {
  const ids = [...new Set(skills.map(({ contentHash }) => skillContentId(agentId, contentHash)))];
  const found = await skillContents.getMany(ids);
  return new Map(found.map((record) => [record.hash, record]));
}

/** Number of skills whose contents are read at once; each may have megabytes. */
const CONTENTS_AT_ONCE = 4;

/** Returns the beginning of a list of skills with contents, as much as one page may have; at least one if there is one. */
export async function withContents(
  parts: Pick<SkillParts, 'skillContents'>,
  agentId: string,
  skills: readonly PinnedSkill[],
): Promise<Skill[]> {
  const shown: Skill[] = [];
  let bytes = 0;
  for (let from = 0; from < skills.length; from += CONTENTS_AT_ONCE) {
    const some = skills.slice(from, from + CONTENTS_AT_ONCE);
    const stored = await contentsOf(parts, agentId, some);
    for (const skill of some) {
      const content = stored.get(skill.contentHash);
      bytes += content === undefined ? 0 : bytesOf(content);
      if (shown.length > 0 && bytes > MAX_PAGE_BYTES) return shown;
      shown.push(skillMessage(skill, content));
    }
  }
  return shown;
}

const bytesOf = ({ content, files }: SkillContentRecord): number =>
  [content, ...files.map((file) => file.content)].reduce((sum, text) => sum + Buffer.byteLength(text), 0);

const CHUNK = 200;

/** Throws `NotFound` unless the caller can read every document that skills refer to, except those that stay as they are. */
export async function requireReadable(
  { index }: Pick<SkillParts, 'index'>,
  given: readonly GivenSkill[],
  { onward }: Pick<CallContext, 'onward'>,
): Promise<void> {
  const named = given.flatMap(({ skill: { resourceId, files }, stored }, i) =>
    stored === undefined
      ? []
      : [
          ...(resourceId === undefined ? [] : [{ id: resourceId, param: `skills[${i}].resource_id`, isText: true }]),
          ...files.flatMap((file, j) =>
            file.resourceId === undefined
              ? []
              : [{ id: file.resourceId, param: `skills[${i}].files[${j}].resource_id`, isText: false }],
          ),
        ],
  );
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
