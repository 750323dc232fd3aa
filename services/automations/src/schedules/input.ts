import type { Fault } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { isObject, readJson } from '@commonplace/kit/json';
import { isLongerThan } from '@commonplace/kit/words';
import { tooLarge } from '../runs/json.js';
import type { AgentInput, TargetType } from './records.js';

const MAX_TEXT = 100_000;
const MAX_ATTACHMENTS = 50;
const AGENT_FIELDS = ['text', 'attachments', 'parameters'];

export interface InputRules {
  readonly targetType: TargetType;
  /** Maximum bytes of the input as JSON. */
  readonly inputBytes: number;
}

/** Returns the input of a target in its stored form; undefined if there is none. Adds its faults to `faults`. */
export function readInput(bytes: Buffer, { targetType, inputBytes }: InputRules, faults: Fault[]): unknown {
  const add = (param: string, code: string, message: string) =>
    faults.push({ param, code, message: `${param} ${message}` });
  if (bytes.length > inputBytes) {
    add('input', 'invalid_value', tooLarge(inputBytes));
    return undefined;
  }
  const value = readJson(bytes);
  if (targetType === 'agent') checkAgentInput(value, add);
  else if (typeof value === 'string') add('input', 'invalid_type', 'must be an object: the target is an automation.');
  return value;
}

function checkAgentInput(value: unknown, add: (param: string, code: string, message: string) => void): void {
  const object = typeof value === 'string' ? { text: value } : ((value ?? {}) as Record<string, unknown>);
  for (const name of Object.keys(object)) {
    if (!AGENT_FIELDS.includes(name)) add(`input.${name}`, 'unknown_field', 'is not known.');
  }
  const { text, attachments = [], parameters = {} } = object as Record<string, unknown>;
  const param = typeof value === 'string' || value === undefined ? 'input' : 'input.text';
  if (typeof text !== 'string' || text.trim() === '')
    add(param, 'missing_field', 'must be a text: the target is an agent.');
  else if (isLongerThan(text, MAX_TEXT)) add(param, 'invalid_value', `may have at most ${MAX_TEXT} characters.`);
  const isIds =
    Array.isArray(attachments) &&
    attachments.length <= MAX_ATTACHMENTS &&
    attachments.every((id) => isUuid(String(id)));
  if (!isIds) add('input.attachments', 'invalid_value', `must be a list of up to ${MAX_ATTACHMENTS} ids of resources.`);
  if (!isObject(parameters)) {
    add('input.parameters', 'invalid_type', 'must be an object.');
  }
}

/** Returns the input of an agent's run from a checked input. */
export function agentInputOf(input: unknown): AgentInput {
  const object = typeof input === 'string' ? { text: input } : ((input ?? {}) as Partial<AgentInput>);
  const { text = '', attachments = [], parameters = {} } = object;
  return { text, attachments, parameters };
}
