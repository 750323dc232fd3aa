import { isObject } from '@commonplace/kit/json';
import { ContentMode, ReplaceContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { Parts } from '../../parts.js';
import { actOnce, reportConflicts } from './acts.js';
import { listOf, optionalText, requiredId } from './arguments.js';
import { MAX_ROWS } from './create.js';
import { added, changePlan, diffBlock, hashOf } from './plans.js';
import { isWider, targetOf } from './targets.js';
import { type Arguments, InvalidArguments, readingPlan, type Tool, type ToolContext } from './tool.js';

type RowParts = Pick<Parts, 'index' | 'content'>;

const MAX_FILTER_LENGTH = 10_000;
const MAX_ID_LENGTH = 64;
/** Number of rows that one call reads by default. */
const READ_ROWS = 50;

const resourceId = { type: 'string', description: 'Id of the table.' };

const readSchema = {
  name: 'read_rows',
  description: 'Reads rows of a table with their ids. Returns them as a numbered source.',
  parameters: {
    type: 'object',
    properties: {
      resource_id: resourceId,
      filter: {
        type: 'string',
        description: 'A filter as JSON: `{"and":[{"column":…,"op":"eq|neq|contains|gt|lt|in|empty","value":…}]}`.',
      },
      limit: { type: 'integer', minimum: 1, maximum: MAX_ROWS },
      offset: { type: 'integer', minimum: 0 },
    },
    required: ['resource_id'],
    additionalProperties: false,
  },
};

const appendSchema = {
  name: 'append_rows',
  description: 'Adds rows to a table.',
  parameters: {
    type: 'object',
    properties: {
      resource_id: resourceId,
      rows: { type: 'array', description: 'Objects by column name or id.', items: { type: 'object' } },
    },
    required: ['resource_id', 'rows'],
    additionalProperties: false,
  },
};

const updateSchema = {
  name: 'update_rows',
  description: 'Changes cells of rows. Cells that are not sent stay as they are.',
  parameters: {
    type: 'object',
    properties: {
      resource_id: resourceId,
      rows: {
        type: 'array',
        items: {
          type: 'object',
          properties: { id: { type: 'string' }, cells: { type: 'object', description: 'By column name or id.' } },
          required: ['id', 'cells'],
          additionalProperties: false,
        },
      },
    },
    required: ['resource_id', 'rows'],
    additionalProperties: false,
  },
};

const deleteSchema = {
  name: 'delete_rows',
  description: 'Deletes rows of a table. What was there before is kept as a snapshot.',
  parameters: {
    type: 'object',
    properties: { resource_id: resourceId, row_ids: { type: 'array', items: { type: 'string' } } },
    required: ['resource_id', 'row_ids'],
    additionalProperties: false,
  },
};

/** Creates the tools that read and change rows of tables. */
export function createRowTools(parts: RowParts): Tool[] {
  return [
    readTool(),
    changeTool(parts, appendSchema, appending),
    changeTool(parts, updateSchema, updating),
    changeTool(parts, deleteSchema, deleting),
  ];
}

function readTool(): Tool {
  return {
    schema: readSchema,
    async plan(args) {
      return readingPlan(`Read rows of ${requiredId(args, 'resource_id')}`, hashOf(readSchema));
    },
    async call(args, { retrieval }) {
      const id = requiredId(args, 'resource_id');
      const filter = optionalText(args, 'filter', MAX_FILTER_LENGTH) ?? '';
      const limit = integer(args, 'limit', 1, MAX_ROWS) ?? READ_ROWS;
      const offset = integer(args, 'offset', 0, 1_000_000) ?? 0;
      const found = await retrieval.readRows(id, { filter, limit, offset });
      if (found === undefined) return { text: `There is no table ${id}, or no such row.`, found: [] };
      return { text: '', found: [found], taints: found.taint && [found.taint] };
    },
  };
}

function integer(args: Arguments, name: string, min: number, max: number): number | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new InvalidArguments(`${name} must be an integer from ${min} to ${max}.`);
  }
  return value;
}

/** A change of a table, read from the arguments of a call. */
interface Change {
  readonly request: Partial<ReplaceContentRequest>;
  readonly title: string;
  readonly diff: string;
  readonly action: 'write' | 'delete';
  readonly risk: 'low' | 'medium' | 'high';
}

function changeTool(parts: RowParts, schema: Tool['schema'], changeIn: (args: Arguments) => Change): Tool {
  return {
    schema,
    async plan(args, context) {
      const { title, diff, action, risk } = changeIn(args);
      const target = await tableOf(parts, args, context);
      const isSink = action === 'delete' || (await isWider(parts, target, context));
      return changePlan(
        schema,
        { action, risk, isSink, title: `${title} “${target.name}”`, resourceIds: [target.id] },
        { text: diffBlock(diff), targets: [target.name] },
      );
    },
    call: (args, context) =>
      reportConflicts(async () => {
        const change = changeIn(args);
        const target = await tableOf(parts, args, context);
        const request = ReplaceContentRequest.fromPartial({ resourceId: target.id, typecast: true, ...change.request });
        const { changed, version, rowCount } = await actOnce(context, 'content:write', args, (options) =>
          parts.content.replaceContent(request, options),
        );
        const text = changed
          ? `“${target.name}” has version ${version} and ${rowCount ?? 0} rows now.`
          : `“${target.name}” is as it was.`;
        return { text, found: [], resourceIds: [target.id] };
      }),
  };
}

async function tableOf(parts: RowParts, args: Arguments, context: ToolContext) {
  const target = await targetOf(parts, requiredId(args, 'resource_id'), context);
  if (target.type !== ResourceType.TABLE) throw new InvalidArguments(`“${target.name}” is not a table.`);
  return target;
}

const jsonLines = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join('\n');

function appending(args: Arguments): Change {
  const rows = listOf(args, 'rows', 1, MAX_ROWS);
  if (!rows.every(isObject)) throw new InvalidArguments('Each of rows must be an object by column name.');
  return {
    // The ids of rows are not passed on, since they could make the call change other rows.
    request: { mode: ContentMode.APPEND, rows: Buffer.from(JSON.stringify(rows.map((cells) => ({ cells })))) },
    title: `Add ${rows.length} rows to`,
    diff: added(jsonLines(rows)),
    action: 'write',
    risk: 'low',
  };
}

function updating(args: Arguments): Change {
  const rows = listOf(args, 'rows', 1, MAX_ROWS).map((row) => {
    if (!isObject(row) || !isRowId(row.id) || !isObject(row.cells)) {
      throw new InvalidArguments('Each of rows must have id and cells.');
    }
    return { id: row.id, cells: row.cells };
  });
  return {
    request: { mode: ContentMode.UPSERT, rows: Buffer.from(JSON.stringify(rows)) },
    title: `Change ${rows.length} rows of`,
    diff: added(jsonLines(rows)),
    action: 'write',
    risk: 'medium',
  };
}

function deleting(args: Arguments): Change {
  const ids = listOf(args, 'row_ids', 1, MAX_ROWS);
  if (!ids.every(isRowId)) throw new InvalidArguments('row_ids must be ids of rows.');
  return {
    request: { mode: ContentMode.UPSERT, deleteRowIds: [...ids] },
    title: `Delete ${ids.length} rows of`,
    diff: ids.map((id) => `-${id}`).join('\n'),
    action: 'delete',
    risk: 'high',
  };
}

const isRowId = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= MAX_ID_LENGTH;
