import type { ActionType } from './records.js';

/** The longest delay, which is 30 days. */
export const MAX_DELAY_SECONDS = 2_592_000;
/** Longest duration of one attempt of an `http_request`, in seconds. */
const MAX_HTTP_SECONDS = 60;
const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The type of a config field. A text that consists of one template is accepted for each of them. */
export type FieldKind =
  /** A text without line breaks. */
  | 'line'
  | 'text'
  | 'uuid'
  | 'time'
  | 'flag'
  /** A whole number. */
  | 'whole'
  /** A decimal number as a text. */
  | 'decimal'
  | 'list'
  | 'uuids'
  | 'lines'
  | 'object'
  | 'text_or_object'
  /** An object whose values are texts. */
  | 'headers'
  | 'url'
  /** Conditions in the form of an automation's conditions. */
  | 'conditions'
  /** `stop`, or `goto:` and the id of a later action. */
  | 'target'
  /** The name of a secret of the automation. */
  | 'secret'
  | 'any';

export interface FieldSpec {
  readonly kind: FieldKind;
  readonly required?: boolean;
  readonly oneOf?: readonly string[];
  /** Maximum number of characters of a text or of items of a list, or the maximum of a number. */
  readonly max?: number;
  readonly min?: number;
  /** Whether the field must not contain a template, because its value is needed when the automation is saved. */
  readonly literal?: boolean;
}

/** The fields and the scope of an action. The guide to automations contains the same table. */
interface ActionSpec {
  /** The scope that the credential which sets the automation up must have; null if none is needed. */
  readonly scope: string | null;
  readonly fields: Readonly<Record<string, FieldSpec>>;
  /** Fields of which exactly one is required. */
  readonly oneOf?: readonly string[];
}

const NAME = { kind: 'line', required: true, max: 255 } as const;
const ID = { kind: 'uuid', required: true } as const;
const TYPECAST = { kind: 'flag' } as const;

export const ACTIONS: Readonly<Record<ActionType, ActionSpec>> = {
  create_resource: {
    scope: 'resource:write',
    fields: {
      type: { kind: 'line', required: true, oneOf: ['document', 'table', 'artifact', 'folder'] },
      name: NAME,
      parent_id: { kind: 'uuid' },
      content: { kind: 'text_or_object' },
      columns: { kind: 'list', max: 500 },
      rows: { kind: 'list', max: 10_000 },
      icon: { kind: 'line', max: 255 },
      description: { kind: 'text', max: 2000 },
      metadata: { kind: 'object' },
      external_id: { kind: 'line', max: 255 },
      on_conflict: { kind: 'line', oneOf: ['error', 'return_existing', 'update'] },
      tags: { kind: 'lines', max: 50 },
    },
  },
  update_content: {
    scope: 'content:write',
    fields: {
      resource_id: ID,
      mode: { kind: 'line', oneOf: ['replace', 'edit', 'append', 'prepend', 'upsert'] },
      format: { kind: 'line', oneOf: ['markdown', 'json', 'html', 'text'] },
      content: { kind: 'text_or_object' },
      markdown: { kind: 'text' },
      edits: { kind: 'list', max: 100 },
      columns: { kind: 'list', max: 500 },
      rows: { kind: 'list', max: 10_000 },
      key_column_id: { kind: 'line', max: 64 },
      typecast: TYPECAST,
    },
  },
  append_rows: {
    scope: 'content:write',
    fields: { table_id: ID, rows: { kind: 'list', required: true, max: 10_000 }, typecast: TYPECAST },
  },
  update_row: {
    scope: 'content:write',
    fields: {
      table_id: ID,
      row_id: { kind: 'line', required: true, max: 64 },
      cells: { kind: 'object', required: true },
      typecast: TYPECAST,
    },
  },
  add_tag: {
    scope: 'tag:write',
    fields: { resource_id: ID, tag_id: { kind: 'uuid' }, name: { kind: 'line', max: 64 } },
    oneOf: ['tag_id', 'name'],
  },
  comment: {
    scope: 'comment:write',
    fields: {
      resource_id: ID,
      body: { kind: 'text', required: true, max: 10_000 },
      parent_comment_id: { kind: 'uuid' },
      mentions: { kind: 'uuids', max: 50 },
    },
  },
  send_message: {
    scope: 'im:write',
    fields: {
      conversation_id: ID,
      text: { kind: 'text', required: true, max: 20_000 },
      reply_to_id: { kind: 'uuid' },
    },
  },
  notify: {
    scope: null,
    fields: {
      user_ids: { kind: 'uuids', required: true, min: 1, max: 50 },
      title: NAME,
      body: { kind: 'text', max: 2000 },
      resource_id: { kind: 'uuid' },
    },
  },
  create_work_item: {
    scope: 'work_item:write',
    fields: {
      title: NAME,
      description: { kind: 'text', max: 20_000 },
      status: { kind: 'line', oneOf: ['backlog', 'todo', 'in_progress', 'in_review', 'done', 'canceled'] },
      priority: { kind: 'line', oneOf: ['none', 'low', 'medium', 'high', 'urgent'] },
      assignee: { kind: 'object' },
      due_at: { kind: 'time' },
      start_at: { kind: 'time' },
      labels: { kind: 'lines', max: 50 },
      parent_id: { kind: 'uuid' },
      resource_ids: { kind: 'uuids', max: 50 },
      external_id: { kind: 'line', max: 255 },
      auto_run: { kind: 'flag' },
    },
  },
  run_agent: {
    scope: 'agent_run:write',
    fields: {
      agent_id: ID,
      input: { kind: 'text', required: true },
      parameters: { kind: 'object' },
      resource_ids: { kind: 'uuids', max: 50 },
      max_credits: { kind: 'decimal' },
      max_steps: { kind: 'whole', min: 1, max: 200 },
    },
  },
  http_request: {
    scope: null,
    fields: {
      url: { kind: 'url', required: true, max: 2048 },
      method: { kind: 'line', oneOf: HTTP_METHODS, literal: true },
      headers: { kind: 'headers', max: 50 },
      body: { kind: 'any' },
      sign_with: { kind: 'secret', literal: true },
      once: { kind: 'flag', literal: true },
      timeout_seconds: { kind: 'whole', min: 1, max: MAX_HTTP_SECONDS, literal: true },
    },
  },
  search: {
    scope: 'search:read',
    fields: {
      query: { kind: 'line', required: true, max: 1000 },
      mode: { kind: 'line', oneOf: ['hybrid', 'keyword', 'semantic'] },
      types: { kind: 'lines', max: 5 },
      parent_id: { kind: 'uuid' },
      tag_ids: { kind: 'uuids', max: 50 },
      limit: { kind: 'whole', min: 1, max: 50 },
    },
  },
  condition: {
    scope: null,
    fields: {
      conditions: { kind: 'conditions', required: true, min: 1, max: 10, literal: true },
      else: { kind: 'target', literal: true },
    },
  },
  delay: {
    scope: null,
    fields: { seconds: { kind: 'whole', min: 1, max: MAX_DELAY_SECONDS }, until: { kind: 'time' } },
    oneOf: ['seconds', 'until'],
  },
  stop: {
    scope: null,
    fields: {
      status: { kind: 'line', oneOf: ['completed', 'failed'], literal: true },
      message: { kind: 'text', max: 500 },
    },
  },
};
