import { AppError, invalidField, invalidFields, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { GetContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { DefinitionParts } from './parts.js';
import type { StoredTrigger } from './records.js';

type TargetParts = Pick<DefinitionParts, 'peers'>;

/** The context that a trigger is checked in. */
interface Comparison {
  readonly workspaceId: string;
  /**
   * The trigger before the change. Targets and columns that it already names are not checked, even if they no longer
   * exist.
   */
  readonly before: StoredTrigger | undefined;
}

type Named = 'parentId' | 'tableId' | 'formId' | 'tagId';

const PARAMS: Readonly<Record<Named, string>> = {
  parentId: 'trigger.config.parent_id',
  tableId: 'trigger.config.table_id',
  formId: 'trigger.config.form_id',
  tagId: 'trigger.config.tag_id',
};

/**
 * Throws `not_found` unless the targets of a trigger are in the workspace and readable for the caller, `invalid_value`
 * if `table_id` is not a table, and `unknown_column` for ids of columns that the table does not have.
 */
export async function requireTargets(
  parts: TargetParts,
  trigger: StoredTrigger,
  compared: Comparison,
  context: CallContext,
): Promise<void> {
  await requireReadable(parts, trigger, compared, context);
  await requireColumns(parts, trigger, compared, context);
}

async function requireReadable(
  { peers: { index } }: TargetParts,
  trigger: StoredTrigger,
  { workspaceId, before }: Comparison,
  { onward }: CallContext,
): Promise<void> {
  const fresh = (field: Named) => (trigger[field] === before?.[field] ? undefined : trigger[field]);
  const [tagId, formId] = [fresh('tagId'), fresh('formId')];
  const located = await locate(index, tagId, formId, onward);
  if (tagId !== undefined && located.tagWorkspaces[tagId] !== workspaceId) throw notFound('tagId');
  if (formId !== undefined && located.formResources[formId] === undefined) throw notFound('formId');

  const ids: [Named, string | undefined][] = [
    ['parentId', fresh('parentId')],
    ['tableId', fresh('tableId')],
    ['formId', formId && located.formResources[formId]],
  ];
  const named = ids.flatMap(([field, id]) => (id === undefined ? [] : [{ field, id }]));
  if (named.length === 0) return;
  const { resources } = await index.checkAccess({ ids: named.map(({ id }) => id) }, onward);
  for (const { field, id } of named) {
    const found = resources.find((resource) => resource.id === id && resource.workspaceId === workspaceId);
    if (found === undefined) throw notFound(field);
    if (field === 'tableId' && found.type !== ResourceType.TABLE) {
      throw invalidField(PARAMS.tableId, 'invalid_value', `${PARAMS.tableId} must be a table.`);
    }
  }
}

async function requireColumns(
  { peers: { content } }: TargetParts,
  { tableId, columns = [] }: StoredTrigger,
  { before }: Comparison,
  { onward }: CallContext,
): Promise<void> {
  const former = tableId === before?.tableId ? (before?.columns ?? []) : [];
  if (tableId === undefined || columns.every((id) => former.includes(id))) return;
  const request = GetContentRequest.fromPartial({ resourceId: tableId, page: { limit: 1 } });
  const table = await content.getContent(request, onward).catch((error: unknown) => {
    throw error instanceof AppError && UNREADABLE.has(error.code) ? notFound('tableId') : error;
  });
  const present = new Set((JSON.parse(table.columns.toString()) as { readonly id: string }[]).map(({ id }) => id));
  const faults = columns.flatMap((id, i) => {
    if (present.has(id) || former.includes(id)) return [];
    const param = `trigger.config.columns[${i}]`;
    return [{ param, code: 'unknown_column', message: `${param} must be the id of a column of the table.` }];
  });
  if (faults.length > 0) throw invalidFields(faults);
}

/** Codes with which a table is refused that is in the trash, or that the caller can no longer read. */
const UNREADABLE: ReadonlySet<AppError['code']> = new Set(['NOT_FOUND', 'PERMISSION_DENIED', 'FAILED_PRECONDITION']);

const notFound = (field: Named) => NotFound({}, { param: PARAMS[field] });

async function locate(
  index: DefinitionParts['peers']['index'],
  tagId: string | undefined,
  formId: string | undefined,
  onward: CallContext['onward'],
) {
  if (tagId === undefined && formId === undefined) return { tagWorkspaces: {}, formResources: {} };
  const request = { tagIds: tagId === undefined ? [] : [tagId], formIds: formId === undefined ? [] : [formId] };
  return index.locateTagsAndForms(request, onward);
}
