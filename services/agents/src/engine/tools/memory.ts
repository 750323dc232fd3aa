import { AppError } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { isLongerThan } from '@commonplace/kit/words';
import {
  append,
  forget,
  isTainted,
  MAX_CONTENT,
  type RunText,
  remember,
  revise,
  TooLong,
} from '../../memories/by-tool.js';
import { findRelevant } from '../../memories/choose.js';
import { type MemoryReach, reachOf, stillUsable, withReadableSources } from '../../memories/of-run.js';
import { memoryMark } from '../../memories/text.js';
import type { SeesSources } from '../../memories/write.js';
import type { Parts } from '../../parts.js';
import type { MemoryKind, MemoryRecord } from '../../stores/memories.js';
import { MEMORY_TOOL, taintOf } from '../memories.js';
import type { ToolProvider } from './table.js';
import {
  type Arguments,
  InvalidArguments,
  NO_PREVIEW,
  readingPlan,
  type Tool,
  type ToolContext,
  type ToolPlan,
  type ToolResult,
  textArgument,
} from './tool.js';

const READING = ['search'] as const;
const WRITING = ['search', 'remember', 'revise', 'append', 'forget'] as const;
type Action = (typeof WRITING)[number];
type Place = 'user' | 'agent' | 'workspace';

const PLACES: readonly Place[] = ['agent', 'user', 'workspace'];
const KINDS: readonly MemoryKind[] = ['fact', 'preference', 'instruction', 'episode', 'summary'];
/** Maximum number of memories that one search returns. */
const MAX_FOUND = 10;

/** Provides the memory tool as far as the agent's memory mode allows. The built-in assistant has none. */
export const memoryTools: ToolProvider = async (parts, run) => {
  const agent = run.agentId === undefined ? undefined : await parts.agents.get(run.agentId);
  if (!agent?.tools.includes('memory') || agent.memoryMode === 'off' || !run.scopes.includes('memory:read')) return [];
  const mayWrite = agent.memoryMode === 'read_write' && run.scopes.includes('memory:write');
  return [memoryTool(parts, mayWrite ? WRITING : READING)];
};

function memoryTool(parts: Parts, actions: readonly Action[]): Tool {
  const calls: Readonly<
    Record<Action, (args: Arguments, context: ToolContext, reach: MemoryReach) => Promise<ToolResult>>
  > = {
    search: (args, context, reach) => search(parts, args, context, reach),
    remember: (args, context, reach) => add(parts, args, context, reach),
    revise: (args, context, reach) => change(parts, args, context, reach),
    append: (args, context, reach) => addTo(parts, args, context, reach),
    forget: (args, context, reach) => erase(parts, args, context, reach),
  };
  const actionOf = (args: Arguments): Action => choice(args, 'action', actions);
  return {
    schema: schemaOf(actions),
    async plan(args, context) {
      const action = actionOf(args);
      if (action === 'search') return readingPlan(`Search memories for ${textArgument(args, 'query')}`);
      const reach = await requireReach(parts, context);
      const seenBy = { userId: context.run.userId, ownerId: reach.agent?.ownerId };
      if (action === 'remember') {
        const place = { scope: placeIn(args), subjectId: context.run.userId };
        return planOf('Remember', 'create', place, textOf(args), seenBy);
      }
      const memory = await changeable(parts, args, context, reach);
      if (action === 'forget') return planOf('Forget', 'delete', memory, memory.content, seenBy);
      return planOf('Change', 'write', memory, textOf(args), seenBy);
    },
    async call(args, context) {
      return calls[actionOf(args)](args, context, await requireReach(parts, context));
    },
  };
}

// ---- plans

/** The people who can read what a run remembers: the person who started it, and the owner of its agent. */
interface Readers {
  readonly userId: string;
  readonly ownerId: string | undefined;
}

/** Returns the plan of a change. A memory that people other than the person can read makes it a sink. */
function planOf(
  verb: string,
  action: ToolPlan['action'],
  { scope, subjectId }: Pick<MemoryRecord, 'scope' | 'subjectId'>,
  text: string,
  { userId, ownerId }: Readers,
): ToolPlan {
  const isOwn = scope === 'user' || (scope === 'agent' && subjectId === userId && ownerId === userId);
  const isShared = !isOwn;
  const title = `${verb} a memory of the ${scope === 'user' ? 'person' : scope}`;
  const preview = { ...NO_PREVIEW, text };
  const risk = isShared ? 'medium' : 'low';
  return { action, effect: 'idempotent', risk, isSink: isShared, title, preview, toolHash: TOOL_HASH };
}

/** The version of the tool; change it when the tool does something other than a person has approved. */
const TOOL_HASH = 'memory:1';

// ---- calls

async function search(parts: Parts, args: Arguments, context: ToolContext, reach: MemoryReach): Promise<ToolResult> {
  const found = (await findRelevant(parts, reach, textArgument(args, 'query'), context)).slice(0, MAX_FOUND);
  const text = found.length === 0 ? 'There is no such memory.' : found.map(({ id }) => memoryMark(id)).join('\n');
  return { text, found: [], taints: found.filter((memory) => memory.isTainted).map(taintOf) };
}

async function add(parts: Parts, args: Arguments, context: ToolContext, reach: MemoryReach): Promise<ToolResult> {
  const kind = args.kind === undefined ? 'fact' : choice(args, 'kind', KINDS);
  const place = placeOf(placeIn(args), context, reach);
  const text = { content: textOf(args), kind, place, sourceIds: context.sources.resourceIds() };
  return keep(parts, context, text);
}

async function change(parts: Parts, args: Arguments, context: ToolContext, reach: MemoryReach): Promise<ToolResult> {
  const { run } = context;
  const memory = await changeable(parts, args, context, reach);
  const text = { content: textOf(args), sourceIds: context.sources.resourceIds() };
  if (isTainted(run)) return propose(parts, memory, text, context);
  const { version } = args;
  if (!Number.isInteger(version)) throw new InvalidArguments('version must be the number that the search has shown.');
  const done = await revise(parts, run, memory.id, version as number, text, seesSources(parts, context));
  if (done.memory === undefined) return failure('The memory has been erased.');
  if (done.isRevised) return { text: `Changed. It is version ${done.memory.version} now.`, found: [] };
  return failure(`The memory has changed meanwhile. Take its present text into account:\n${memoryMark(memory.id)}`);
}

async function addTo(parts: Parts, args: Arguments, context: ToolContext, reach: MemoryReach): Promise<ToolResult> {
  const { run, toolCallId, sources } = context;
  const memory = await changeable(parts, args, context, reach);
  const line = textOf(args);
  const text = { content: `${memory.content}\n${line}`, sourceIds: sources.resourceIds() };
  if (isTainted(run)) return propose(parts, memory, text, context);
  try {
    const call = `${run.id}:${toolCallId}`;
    const done = await append(parts, run, memory.id, line, text.sourceIds, call, seesSources(parts, context));
    return done === undefined ? failure('The memory has been erased.') : { text: 'Appended.', found: [] };
  } catch (error) {
    if (error instanceof TooLong) throw new InvalidArguments(`A memory has at most ${MAX_CONTENT} characters.`);
    throw error;
  }
}

async function erase(parts: Parts, args: Arguments, context: ToolContext, reach: MemoryReach): Promise<ToolResult> {
  if (isTainted(context.run)) return failure('This run has read untrusted content and may forget nothing.');
  const memory = await changeable(parts, args, context, reach);
  if (!reach.rights.canDelete(memory)) throw new InvalidArguments('The person may not delete this memory.');
  await forget(parts, memory.id);
  return { text: 'Forgotten.', found: [] };
}

/** Proposes a new memory instead of changing one, because the run is tainted. The existing memory stays unchanged. */
async function propose(
  parts: Parts,
  memory: MemoryRecord,
  { content, sourceIds }: Pick<RunText, 'content' | 'sourceIds'>,
  context: ToolContext,
): Promise<ToolResult> {
  if (isLongerThan(content, MAX_CONTENT)) throw new InvalidArguments(`A memory has at most ${MAX_CONTENT} characters.`);
  const drawn = [...new Set([...memory.sourceIds, ...sourceIds])];
  return keep(parts, context, { content, kind: memory.kind, place: placeAs(memory), sourceIds: drawn });
}

function placeAs({ scope, tenant, orgId, workspaceId, userId, agentId, subjectId }: MemoryRecord): RunText['place'] {
  return { scope, tenant, orgId, workspaceId, userId, agentId, subjectId };
}

async function keep(parts: Parts, context: ToolContext, text: RunText): Promise<ToolResult> {
  try {
    return resultOf(await remember(parts, context.run, text, seesSources(parts, context)));
  } catch (error) {
    if (error instanceof AppError && error.reason === 'limit_reached') return failure(error.message);
    throw error;
  }
}

/** Returns the check whether the person can read all sources of a memory. */
function seesSources(parts: Parts, context: ToolContext): SeesSources {
  return async (memory) => (await withReadableSources(parts, [memory], context)).length === 1;
}

function resultOf({ id, status }: MemoryRecord): ToolResult {
  if (status === 'active') return { text: `Remembered as memory ${id}.`, found: [] };
  return { text: `Memory ${id} is proposed: nothing uses it until a person accepts it.`, found: [] };
}

const failure = (text: string): ToolResult => ({ text, found: [], isError: true });

// ---- rights

async function requireReach(parts: Parts, context: ToolContext): Promise<MemoryReach> {
  const reach = await reachOf(parts, context);
  if (reach === undefined) throw new InvalidArguments('This agent no longer has a memory.');
  return reach;
}

/**
 * Returns the memory that a call names. Throws unless the run may use it, and the agent and the person may change it.
 */
async function changeable(
  parts: Parts,
  args: Arguments,
  context: ToolContext,
  { rights, agent }: MemoryReach,
): Promise<MemoryRecord> {
  const id = textArgument(args, 'memory_id').toLowerCase();
  const [memory] = isUuid(id) ? await stillUsable(parts, [id], context) : [];
  if (memory === undefined) throw new InvalidArguments(`There is no memory ${id}.`);
  const isOpen = memory.scope !== 'workspace' || agent === undefined || isEditor(agent, memory.workspaceId);
  if (!isOpen || !rights.canChange(memory) || rights.isArchived(memory)) {
    throw new InvalidArguments('The agent and the person together may not change this memory.');
  }
  return memory;
}

function isEditor({ places }: NonNullable<MemoryReach['agent']>, workspaceId: string | undefined): boolean {
  return places.some((place) => place.workspaceId === workspaceId && place.role === 'editor');
}

function placeOf(place: Place, { run }: ToolContext, { agent, rights, groups }: MemoryReach): RunText['place'] {
  const { tenant, orgId, workspaceId, userId } = run;
  const refuse = (why: string) => new InvalidArguments(`The memory cannot be kept there: ${why}`);
  if (place === 'user') {
    const about = { scope: place, tenant, orgId, userId } as const;
    if (!groups.some(({ holder }) => holder.startsWith('user:'))) throw refuse('a key has started this run.');
    return about;
  }
  if (agent === undefined) throw refuse('this run has no agent.');
  if (place === 'agent') {
    return { scope: place, tenant: agent.tenant, orgId: agent.orgId, agentId: agent.id, subjectId: userId };
  }
  const about = { scope: place, tenant, orgId, workspaceId } as const;
  if (workspaceId === undefined) throw refuse('this run is in no workspace.');
  if (!isEditor(agent, workspaceId) || !rights.canWrite(about) || rights.isArchived(about)) {
    throw refuse('the agent and the person have to be editors of the workspace.');
  }
  return about;
}

// ---- arguments

const placeIn = (args: Arguments): Place => (args.scope === undefined ? 'agent' : choice(args, 'scope', PLACES));

function textOf(args: Arguments): string {
  const text = textArgument(args, 'content');
  if (isLongerThan(text, MAX_CONTENT)) throw new InvalidArguments(`content has at most ${MAX_CONTENT} characters.`);
  return text.replaceAll('\u0000', '');
}

function choice<T extends string>(args: Arguments, name: string, values: readonly T[]): T {
  const value = values.find((one) => one === args[name]);
  if (value === undefined) throw new InvalidArguments(`${name} must be one of ${values.join(', ')}.`);
  return value;
}

function schemaOf(actions: readonly Action[]): Tool['schema'] {
  const reading = {
    action: { type: 'string', enum: [...actions] },
    query: { type: 'string', description: 'For search: words of the memories to find.' },
  };
  const writing = {
    content: { type: 'string', description: 'For remember, revise and append: the text.', maxLength: MAX_CONTENT },
    kind: { type: 'string', enum: [...KINDS], description: 'For remember.' },
    scope: { type: 'string', enum: [...PLACES], description: 'For remember: whose memory it is; agent if left out.' },
    memory_id: { type: 'string', description: 'For revise, append and forget.' },
    version: { type: 'integer', description: 'For revise: the version that is replaced.' },
  };
  const mayWrite = actions.length > 1;
  return {
    name: MEMORY_TOOL,
    description: mayWrite
      ? 'Searches, adds, replaces, extends and erases what is remembered from run to run.'
      : 'Searches what is remembered from run to run.',
    parameters: {
      type: 'object',
      properties: mayWrite ? { ...reading, ...writing } : reading,
      required: ['action'],
      additionalProperties: false,
    },
  };
}
