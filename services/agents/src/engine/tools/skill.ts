import { bodyOf } from '../../domain/skill-md.js';
import type { Parts } from '../../parts.js';
import type { PinnedSkill } from '../../stores/agents.js';
import { skillContentId } from '../../stores/skills.js';
import { versionOf } from '../run-agent.js';
import type { FoundSource } from '../sources.js';
import type { ToolProvider } from './table.js';
import { type Arguments, InvalidArguments, readingPlan, type Tool, type ToolContext, textArgument } from './tool.js';

/** Maximum characters loaded of a skill or of one of its files. */
const MAX_LENGTH = 65_536;

/**
 * Provides the tool that loads skills, if the run's agent has enabled ones. Scripts among the files are loaded as text.
 */
export const skillTools: ToolProvider = async (parts, run) => {
  const version = await versionOf(parts, run);
  const skills = (version?.skills ?? []).filter(({ isEnabled }) => isEnabled);
  return version === undefined || skills.length === 0 ? [] : [skillTool(parts, version.agentId, skills)];
};

function skillTool(parts: Pick<Parts, 'skillContents'>, agentId: string, skills: readonly PinnedSkill[]): Tool {
  return {
    schema: {
      name: 'skill',
      description: 'Loads a skill by its name, or one of the files that it names. Load it before the task it is for.',
      parameters: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'Name of the skill.' },
          file: { type: 'string', description: 'Path of one of its files; the skill itself when absent.' },
        },
        required: ['name'],
        additionalProperties: false,
      },
    },
    async plan(args) {
      const { skill, path } = named(skills, args);
      return readingPlan(`Load the skill ${skill.name}${path === undefined ? '' : `, ${path}`}`);
    },
    async call(args, context) {
      const { skill, path } = named(skills, args);
      const stored = await parts.skillContents.get(skillContentId(agentId, skill.contentHash));
      const resourceId = path === undefined ? skill.resourceId : fileOf(skill, path).resourceId;
      if (resourceId !== undefined) return live(resourceId, skill, path, context);
      const text = path === undefined ? stored?.content : stored?.files.find((file) => file.path === path)?.content;
      if (text === undefined) return { text: 'The skill is no longer stored.', found: [], isError: true };
      return { text: path === undefined ? `${text}${contentsOf(skill)}` : shorten(text), found: [] };
    },
  };
}

interface Named {
  readonly skill: PinnedSkill;
  readonly path: string | undefined;
}

function named(skills: readonly PinnedSkill[], args: Arguments): Named {
  const name = textArgument(args, 'name');
  const skill = skills.find((one) => one.name === name);
  if (skill === undefined) {
    throw new InvalidArguments(`There is no skill ${name}. There are: ${skills.map((one) => one.name).join(', ')}.`);
  }
  const path = args.file === undefined || args.file === null ? undefined : textArgument(args, 'file');
  if (path !== undefined) fileOf(skill, path);
  return { skill, path };
}

function fileOf({ name, files }: PinnedSkill, path: string): PinnedSkill['files'][number] {
  const file = files.find((one) => one.path === path);
  if (file === undefined) {
    const known = files.map((one) => one.path).join(', ') || 'none';
    throw new InvalidArguments(`The skill ${name} has no file ${path}. It has: ${known}.`);
  }
  return file;
}

/** Reads a document that a skill refers to, with the rights of the person. It becomes a source like any other. */
async function live(resourceId: string, skill: PinnedSkill, path: string | undefined, context: ToolContext) {
  const found = await context.retrieval.read(resourceId, context.question, MAX_LENGTH);
  const what = path === undefined ? `The skill ${skill.name}` : `The file ${path} of the skill ${skill.name}`;
  if (found === undefined) return { text: `${what} cannot be read here.`, found: [], isError: true };
  const source: FoundSource = { ...found, text: `${bodyOf(found.text)}${path === undefined ? contentsOf(skill) : ''}` };
  return { text: '', found: [source] };
}

/** Returns the list of a skill's files and tools, which the model can load when needed. */
function contentsOf({ files, allowedTools }: PinnedSkill): string {
  const paths = files.length === 0 ? '' : `\n\nFiles of this skill: ${files.map(({ path }) => path).join(', ')}.`;
  return allowedTools.length === 0 ? paths : `${paths}\n\nTools that it is made for: ${allowedTools.join(', ')}.`;
}

function shorten(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}\n(The rest of the file is left out.)`;
}
