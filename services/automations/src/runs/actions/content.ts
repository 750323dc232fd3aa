import { derivedId } from '@commonplace/kit/id';
import { isObject, jsonBytes } from '@commonplace/kit/json';
import type { CallOptions } from '@commonplace/kit/rpc';
import { enumName } from '@commonplace/platform/enums';
import {
  type Content,
  ContentFormat,
  ContentMode,
  GetContentRequest,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { CreateResourceRequest, OnConflict } from '@commonplace/proto/resources/v1/resource_service.js';
import { ActionError } from '../failure.js';
import { listIn, rowData } from '../trigger-data.js';
import {
  type Action,
  type ActionContext,
  type ActionParts,
  type ActionResult,
  type Config,
  done,
  enumIn,
  given,
  givenJson,
} from './action.js';

type ContentParts = Pick<ActionParts, 'peers'>;

export const createResource = ({ peers }: ContentParts): Action => ({
  async run({ config, run, change }) {
    const request = CreateResourceRequest.fromPartial({
      ...given(config, {
        ...{ name: 'name', parent_id: 'parentId', icon: 'icon', description: 'description' },
        ...{ external_id: 'externalId', tags: 'tags' },
      }),
      ...givenJson(config, { content: 'content', columns: 'columns', rows: 'rows', metadata: 'metadata' }),
      type: enumIn(ResourceType, config.type),
      onConflict: enumIn(OnConflict, config.on_conflict),
      workspaceId: run.workspaceId,
    });
    const { id, name, type, parentId, version } = await change((options) =>
      peers.resources.createResource(request, options),
    );
    const shown = enumName(type, 'RESOURCE_TYPE');
    return done({ id, name, type: shown, workspace_id: run.workspaceId, parent_id: parentId ?? null, version });
  },
});

export const updateContent = ({ peers }: ContentParts): Action => ({
  async run({ config, change }) {
    const request = ReplaceContentRequest.fromPartial({
      ...given(config, {
        ...{ resource_id: 'resourceId', markdown: 'markdown', key_column_id: 'keyColumnId', typecast: 'typecast' },
      }),
      ...givenJson(config, { content: 'content', columns: 'columns', rows: 'rows' }),
      mode: enumIn(ContentMode, config.mode),
      format: enumIn(ContentFormat, config.format),
      edits: editsIn(config.edits),
    });
    return written(await change((options) => peers.content.replaceContent(request, options)));
  },
});

/** Maximum number of ids of new rows in an output, which has to stay small enough to be kept. */
const MAX_ROW_IDS = 1_000;

export const appendRows = ({ peers }: ContentParts): Action => ({
  async run({ config, step, change, options }) {
    const resourceId = String(config.table_id);
    const given = config.rows as readonly unknown[];
    const columnIds = given.some(Array.isArray) ? await columnIdsOf({ peers }, resourceId, await options()) : [];
    const ids = given.map((_, i) => derivedId(`row ${i} of ${step.key}`));
    const rows = given.map((row, i) => newRow(row, ids[i] as string, columnIds));
    const request = ReplaceContentRequest.fromPartial({
      resourceId,
      mode: ContentMode.APPEND,
      rows: jsonBytes(rows),
      typecast: config.typecast !== false,
    });
    const content = await change((options) => peers.content.replaceContent(request, options));
    return written(content, { row_ids: ids.slice(0, MAX_ROW_IDS) });
  },
});

async function columnIdsOf({ peers }: ContentParts, resourceId: string, options: CallOptions): Promise<string[]> {
  const { columns } = await peers.content.getContent(
    GetContentRequest.fromPartial({ resourceId, page: { limit: 1 } }),
    options,
  );
  return listIn<{ readonly id: string }>(columns).map(({ id }) => id);
}

export const updateRow = ({ peers }: ContentParts): Action => ({
  async run(context) {
    const { config, change } = context;
    await requireRow({ peers }, context);
    const request = ReplaceContentRequest.fromPartial({
      resourceId: String(config.table_id),
      mode: ContentMode.UPSERT,
      rows: jsonBytes([{ id: config.row_id, cells: config.cells }]),
      typecast: config.typecast !== false,
    });
    return written(await change((options) => peers.content.replaceContent(request, options)), {
      row_id: config.row_id,
    });
  },
});

/**
 * Throws if the row no longer exists, because writing it would create it again. An attempt after an interruption skips
 * the check.
 */
async function requireRow({ peers }: ContentParts, { config, isResumed, options }: ActionContext): Promise<void> {
  if (isResumed) return;
  const [resourceId, rowId] = [String(config.table_id), String(config.row_id)];
  const request = GetContentRequest.fromPartial({ resourceId, rowIds: [rowId], page: { limit: 1 } });
  const content = await peers.content.getContent(request, await options());
  if (rowData(resourceId, content) === undefined) {
    throw new ActionError('not_found', `config.row_id: the table has no row ${rowId}.`);
  }
}

/**
 * Returns a row with its new id; its own id could make the call change another row. A row may be a list of values in the
 * order of the columns.
 */
function newRow(row: unknown, id: string, columnIds: readonly string[]): unknown {
  if (Array.isArray(row)) {
    // The table refuses a row with more values than columns.
    if (row.length > columnIds.length) return row;
    return { id, cells: Object.fromEntries(row.map((value, i) => [columnIds[i], value])) };
  }
  if (!isObject(row)) throw new ActionError('invalid_type', 'config.rows: each row must be an object or a list.');
  return { id, cells: isObject(row.cells) ? row.cells : row };
}

function editsIn(edits: unknown): { oldText: string; newText: string; replaceAll: boolean }[] {
  if (!Array.isArray(edits)) return [];
  return edits.map((edit: unknown) => {
    if (!isObject(edit) || typeof edit.old_text !== 'string' || edit.old_text === '') {
      throw new ActionError('missing_field', 'config.edits: each edit must have old_text.');
    }
    return { oldText: edit.old_text, newText: String(edit.new_text ?? ''), replaceAll: edit.replace_all === true };
  });
}

function written({ resourceId, version, changed, snapshotId, rowCount }: Content, more: Config = {}): ActionResult {
  const of = { resource_id: resourceId, version, changed: changed ?? true, snapshot_id: snapshotId ?? null };
  return done({ ...of, ...(rowCount === undefined ? {} : { row_count: rowCount }), ...more });
}
