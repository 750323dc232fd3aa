import type { Fault } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { createBreathe } from '@commonplace/kit/slices';
import { isLongerThan } from '@commonplace/kit/words';
import { ChatRole } from '@commonplace/proto/agents/v1/chat_session.js';
import {
  type AppendedMessageInput,
  AppendedRole,
  type ChatMessageInput,
} from '@commonplace/proto/agents/v1/chat_session_service.js';
import { codeBlock } from '../domain/code-block.js';
import type { Role } from '../stores/sessions.js';

/** A message as a client has sent it. */
export interface GivenMessage {
  readonly role: Role;
  readonly content: string;
  /** The resources that its parts name. */
  readonly resourceIds: readonly string[];
}

const MAX_LENGTH = 20_000;
const MAX_PARTS = 50;
const ROLES: Partial<Record<ChatRole | AppendedRole, Role>> = {
  [ChatRole.UNSPECIFIED]: 'user',
  [ChatRole.USER]: 'user',
  [ChatRole.ASSISTANT]: 'assistant',
  [ChatRole.SYSTEM]: 'system',
  [ChatRole.TOOL]: 'tool',
  [AppendedRole.USER]: 'user',
  [AppendedRole.SYSTEM]: 'system',
};

/** Reads messages and adds their faults to `faults`; lets other requests run in between. */
export async function readMessages(
  given: readonly (ChatMessageInput | AppendedMessageInput)[],
  param: string,
  faults: Fault[],
): Promise<GivenMessage[]> {
  const breathe = createBreathe();
  const messages: GivenMessage[] = [];
  for (const [i, { role, content }] of given.entries()) {
    messages.push({ role: ROLES[role] ?? 'user', ...readContent(content, `${param}[${i}].content`, faults) });
    await breathe();
  }
  return messages;
}

function readContent(bytes: Buffer, param: string, faults: Fault[]): Omit<GivenMessage, 'role'> {
  const refuse = (code: string, message: string) => {
    faults.push({ param, code, message });
    return { content: '', resourceIds: [] };
  };
  const value: unknown = JSON.parse(bytes.toString());
  if (typeof value === 'string') return checkText(value, [], refuse);
  if (!Array.isArray(value)) return refuse('invalid_type', 'must be a text or a list of parts.');
  if (value.length === 0 || value.length > MAX_PARTS)
    return refuse('too_many_items', `must have 1 to ${MAX_PARTS} parts.`);
  const texts: string[] = [];
  const resourceIds: string[] = [];
  for (const part of value as Record<string, unknown>[]) {
    if (part?.type === 'text' && typeof part.text === 'string') texts.push(part.text);
    else if ((part?.type === 'image' || part?.type === 'file') && isUuid(String(part.resource_id))) {
      const id = String(part.resource_id);
      resourceIds.push(id);
      texts.push(`${part.type === 'image' ? '!' : ''}[${part.type}](resource:${id})`);
    } else {
      const kept = readRecord(part);
      if (kept === undefined) return refuse('invalid_value', UNKNOWN_PART);
      texts.push(kept.content);
      resourceIds.push(...kept.resourceIds);
    }
  }
  return checkText(texts.join('\n\n'), resourceIds, refuse);
}

const UNKNOWN_PART =
  'has a part that is not a text, image or file with a resource_id, tool_call with a name, tool_result with content, or citation with a resource_id.';

/** Reads a part of an imported conversation: a tool call, a tool result or a citation. */
function readRecord(part: Record<string, unknown>): Omit<GivenMessage, 'role'> | undefined {
  switch (part?.type) {
    case 'tool_call': {
      const { name, arguments: args = part.input ?? {} } = part;
      return typeof name === 'string' ? recordOf(`${name} ${jsonOf(args)}`) : undefined;
    }
    case 'tool_result': {
      const result = part.content ?? part.output;
      return result === undefined ? undefined : recordOf(jsonOf(result));
    }
    case 'citation': {
      const id = String(part.resource_id);
      return isUuid(id) ? { content: `[source](resource:${id})`, resourceIds: [id] } : undefined;
    }
    default:
      return undefined;
  }
}

const jsonOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const recordOf = (text: string): Omit<GivenMessage, 'role'> => ({ content: codeBlock(text), resourceIds: [] });

function checkText(
  text: string,
  resourceIds: readonly string[],
  refuse: (code: string, message: string) => Omit<GivenMessage, 'role'>,
): Omit<GivenMessage, 'role'> {
  const content = text.replaceAll('\u0000', '').trim();
  if (content === '') return refuse('missing_field', 'must not be empty.');
  if (isLongerThan(content, MAX_LENGTH)) return refuse('invalid_value', `may have at most ${MAX_LENGTH} characters.`);
  return { content, resourceIds };
}
