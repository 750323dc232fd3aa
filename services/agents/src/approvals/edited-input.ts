import { AppError, NotFound } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import type { CallContext } from '@commonplace/kit/rpc';
import { seeAgent } from '../agents/access.js';
import { seeMemory } from '../memories/access.js';
import type { Parts } from '../parts.js';
import { readableAmong } from '../readable.js';
import type { ApprovalRecord } from '../stores/approvals.js';

type InputParts = Pick<
  Parts,
  'index' | 'conversations' | 'workItems' | 'agents' | 'memories' | 'memberships' | 'systemCall'
>;

/** Returns whether the caller sees what an id names. */
type Sees = (parts: InputParts, id: string, context: CallContext) => Promise<boolean>;

const seesResource: Sees = async (parts, id, context) => (await readableAmong(parts, [id], context)).has(id);

const seesConversation: Sees = async ({ conversations, systemCall }, conversationId, { caller: { userId } }) => {
  const { standings } = await conversations.checkMembers({ pairs: [{ userId, conversationId }] }, systemCall());
  return standings.some(({ isActive }) => isActive);
};

const seesWorkItem: Sees = ({ workItems }, workItemId, { onward }) =>
  isFound(workItems.getWorkItem({ workItemId, include: [] }, onward));

const seesAgent: Sees = (parts, id, context) => isFound(seeAgent(parts, id, context));
const seesMemory: Sees = (parts, id, context) => isFound(seeMemory(parts, id, context));

/** Returns whether a read succeeds; false if the caller does not see what it reads. Rethrows errors of other kinds. */
async function isFound(read: Promise<unknown>): Promise<boolean> {
  try {
    await read;
    return true;
  } catch (error) {
    if (error instanceof AppError && (error.code === 'NOT_FOUND' || error.code === 'PERMISSION_DENIED')) return false;
    throw error;
  }
}

/** The arguments of built-in tools that name something which not everybody may see. */
const FIELDS: Readonly<Record<string, Sees>> = {
  resource_id: seesResource,
  parent_id: seesResource,
  conversation_id: seesConversation,
  work_item_id: seesWorkItem,
  assignee_agent_id: seesAgent,
  memory_id: seesMemory,
};

/** The same for tools of work items, which are parts of others. */
const FIELDS_OF_WORK_ITEMS: typeof FIELDS = { ...FIELDS, parent_id: seesWorkItem };

const WORK_ITEM_TOOL = /_work_items?$/;

/**
 * Throws `NotFound` unless the caller sees what an edited input of a built-in tool names in place of the former one:
 * nobody makes a run act with the rights of its person on what they cannot see themselves.
 */
export async function requireSeenInput(
  parts: InputParts,
  { serverId, toolName, input }: Pick<ApprovalRecord, 'serverId' | 'toolName' | 'input'>,
  edited: Readonly<Record<string, unknown>>,
  context: CallContext,
): Promise<void> {
  if (serverId !== undefined) return;
  const before = isObject(input) ? input : {};
  const fields = WORK_ITEM_TOOL.test(toolName) ? FIELDS_OF_WORK_ITEMS : FIELDS;
  for (const [field, sees] of Object.entries(fields)) {
    const id = edited[field];
    if (typeof id !== 'string' || id === before[field]) continue;
    if (!(await sees(parts, id.toLowerCase(), context))) throw NotFound({}, { param: `edited_input.${field}` });
  }
}
