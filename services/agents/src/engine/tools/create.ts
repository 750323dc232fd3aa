import { valuesByName } from '@commonplace/platform/enums';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { CreateResourceRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import type { Parts } from '../../parts.js';
import { actOnce, reportConflicts } from './acts.js';
import { listOf, nameSchema, oneOf, optionalId, optionalText, requiredName } from './arguments.js';
import { added, changePlan, diffBlock } from './plans.js';
import { idsOf, isWider, placeOf } from './targets.js';
import { type Arguments, InvalidArguments, type Tool } from './tool.js';
import { MAX_TEXT_LENGTH } from './write.js';

const TYPES = ['document', 'folder', 'table'] as const;
type Type = (typeof TYPES)[number];

const RESOURCE_TYPES: Readonly<Record<Type, ResourceType>> = valuesByName(ResourceType);

const MAX_COLUMNS = 200;
/** Maximum number of rows that one call writes. */
export const MAX_ROWS = 200;

const schema = {
  name: 'create_resource',
  description: 'Creates a document, a folder or a table, at the root of the workspace or below a parent.',
  parameters: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: [...TYPES] },
      name: nameSchema('One line.'),
      parent_id: { type: 'string', description: 'Id of a folder or document; the root when absent.' },
      markdown: { type: 'string', description: 'Text of a document.' },
      columns: {
        type: 'array',
        description: 'Columns of a table: `{name, type}`; `text` when type is absent.',
        items: { type: 'object' },
      },
      rows: { type: 'array', description: 'Rows of a table: objects by column name.', items: { type: 'object' } },
    },
    required: ['type', 'name'],
    additionalProperties: false,
  },
};

interface CreateArguments {
  readonly type: Type;
  readonly name: string;
  readonly parentId: string | undefined;
  readonly markdown: string | undefined;
  readonly columns: readonly unknown[];
  readonly rows: readonly unknown[];
}

type CreateParts = Pick<Parts, 'index' | 'resources'>;

export function createCreationTools(parts: CreateParts): Tool[] {
  return [
    {
      schema,
      async plan(args, context) {
        const parsed = readArguments(args);
        const place = await placeOf(parts, parsed.parentId, context);
        const isSink = await isWider(parts, place, context);
        const title = `Create the ${parsed.type} “${parsed.name}” in ${place.name}`;
        return changePlan(
          schema,
          { action: 'create', risk: 'low', isSink, title, resourceIds: idsOf(place) },
          { text: previewOf(parsed), targets: [parsed.name, place.name] },
        );
      },
      call: (args, context) =>
        reportConflicts(async () => {
          const parsed = readArguments(args);
          const { workspaceId, parentId } = await placeOf(parts, parsed.parentId, context);
          const request = CreateResourceRequest.fromPartial({
            type: RESOURCE_TYPES[parsed.type],
            name: parsed.name,
            workspaceId,
            parentId,
            ...(parsed.markdown === undefined ? {} : { content: Buffer.from(JSON.stringify(parsed.markdown)) }),
            ...(parsed.columns.length === 0 ? {} : { columns: Buffer.from(JSON.stringify(parsed.columns)) }),
            ...(parsed.rows.length === 0 ? {} : { rows: Buffer.from(JSON.stringify(parsed.rows)) }),
          });
          const made = await actOnce(context, 'resource:write', args, (options) =>
            parts.resources.createResource(request, options),
          );
          return { text: `Created “${made.name}” with the id ${made.id}.`, found: [], resourceIds: [made.id] };
        }),
    },
  ];
}

function readArguments(args: Arguments): CreateArguments {
  const type = oneOf(args, 'type', TYPES);
  const markdown = optionalText(args, 'markdown', MAX_TEXT_LENGTH);
  const isTable = type === 'table';
  if (markdown !== undefined && type !== 'document') throw new InvalidArguments('markdown is for a document only.');
  if (!isTable && (args.columns !== undefined || args.rows !== undefined)) {
    throw new InvalidArguments('columns and rows are for a table only.');
  }
  return {
    type,
    name: requiredName(args, 'name'),
    parentId: optionalId(args, 'parent_id'),
    markdown,
    columns: isTable ? listOf(args, 'columns', 1, MAX_COLUMNS) : [],
    rows: args.rows === undefined ? [] : listOf(args, 'rows', 0, MAX_ROWS),
  };
}

function previewOf({ type, markdown, columns, rows }: CreateArguments): string {
  if (type === 'folder') return '';
  if (type === 'document') return diffBlock(added(markdown ?? ''));
  return diffBlock(added([...columns, ...rows].map((one) => JSON.stringify(one)).join('\n')));
}
