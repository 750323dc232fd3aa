import { DOCUMENT_SCHEMAS } from './document.js';
import { FORM_SCHEMAS } from './form.js';
import { closed, filledLine, JSON_OBJECT, line, listOf, orNull, ref, type Schema, sent, TEXT, UUID } from './schema.js';
import { TABLE_SCHEMAS } from './table.js';
import { TEXT_SCHEMAS } from './text.js';

export { BLOCK_TYPES, INLINE_TYPES, MARK_TYPES } from './document.js';
export { FORM_FIELD_TYPES, OPERATORS } from './form.js';
export { FILLED_LINE, LINE, type Schema } from './schema.js';
export { COLUMN_TYPE_ALIASES, COLUMN_TYPES } from './table.js';

/** The JSON Schemas that the rule `schema` of a field can name. They become components of the OpenAPI document. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  ...DOCUMENT_SCHEMAS,
  ...FORM_SCHEMAS,
  ...TABLE_SCHEMAS,
  ...TEXT_SCHEMAS,
  TemplateItem: {
    type: 'object',
    properties: {
      type: TEXT,
      name: TEXT,
      icon: orNull(TEXT),
      description: orNull(TEXT),
      children: listOf(ref('TemplateItem')),
    },
    required: ['type', 'name', 'children'],
  },
  TemplateItemInput: {
    description: 'A resource that a template makes, with those below it.',
    ...sent(
      {
        type: { type: 'string', enum: ['document', 'table', 'artifact', 'folder'] },
        name: filledLine(255),
        icon: line(255),
        description: line(2000),
        metadata: JSON_OBJECT,
        tags: listOf(filledLine(64), { maxItems: 50 }),
        content: ref('ContentInput'),
        columns: listOf(ref('TableColumnInput')),
        rows: listOf(ref('TableRowInput')),
        children: listOf(ref('TemplateItemInput')),
      },
      ['type', 'name'],
    ),
  },
  PositionInput: {
    description: 'A place among its siblings.',
    anyOf: [
      { type: 'string', enum: ['first', 'last'] },
      closed({ after_id: UUID }, ['after_id']),
      closed({ before_id: UUID }, ['before_id']),
    ],
  },
  RunInputValue: {
    description: 'What a run works on: a text, or a text with resources and parameters.',
    anyOf: [line(100_000, { minLength: 1 }), ref('RunInputObject')],
  },
  RunInputObject: closed(
    {
      text: line(100_000, { minLength: 1 }),
      attachments: listOf(UUID, { maxItems: 50 }),
      parameters: ref('RunParameters'),
    },
    ['text'],
  ),
  RunParameters: JSON_OBJECT,
  ChatContent: {
    description: 'Markdown, or a list of parts.',
    anyOf: [line(20_000, { minLength: 1 }), listOf(ref('ChatPart'), { minItems: 1, maxItems: 50 })],
  },
  ChatPart: {
    anyOf: [
      closed({ type: { type: 'string', enum: ['text'] }, text: line(20_000, { minLength: 1 }) }, ['type', 'text']),
      closed({ type: { type: 'string', enum: ['image', 'file', 'citation'] }, resource_id: UUID }, [
        'type',
        'resource_id',
      ]),
      ref('ChatToolCall'),
      ref('ChatToolResult'),
    ],
  },
  ChatToolCall: closed(
    {
      type: { type: 'string', enum: ['tool_call'] },
      name: line(255, { minLength: 1 }),
      arguments: ref('ChatArguments'),
    },
    ['type', 'name'],
  ),
  ChatArguments: JSON_OBJECT,
  ChatToolResult: closed({ type: { type: 'string', enum: ['tool_result'] }, content: line(19_000, { minLength: 1 }) }, [
    'type',
    'content',
  ]),
  ApproversInput: {
    description: 'The person who started the run, the agent’s owner, the workspace’s administrators, or ids of people.',
    anyOf: [
      { type: 'string', enum: ['initiator', 'owner', 'workspace_admins'] },
      listOf(UUID, { minItems: 1, maxItems: 50 }),
    ],
  },
  McpRequireApproval: {
    description: 'Which tools wait for an approval.',
    anyOf: [{ type: 'string', enum: ['always', 'never'] }, ref('McpRequireApprovalLists')],
  },
  McpRequireApprovalLists: closed({
    always: listOf(line(128), { maxItems: 200 }),
    never: listOf(line(128), { maxItems: 200 }),
  }),
  McpAcceptTools: {
    description: 'Names of tools, or all that are held back.',
    anyOf: [{ type: 'string', enum: ['all'] }, listOf(line(128), { minItems: 1, maxItems: 200 })],
  },
  HttpHeaders: {
    type: 'object',
    additionalProperties: line(8192),
    maxProperties: 20,
    description: 'Values of headers by their names.',
  },
  TextOrNull: { type: ['string', 'null'] },
  IdsById: { type: 'object', additionalProperties: listOf(UUID) },
  TextByName: { type: 'object', additionalProperties: TEXT },
};
