import { AppError } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import type { CallOptions } from '@commonplace/kit/rpc';
import { enumName } from '@commonplace/platform/enums';
import type { WorkItem } from '@commonplace/proto/automations/v1/work_item.js';
import type { Message } from '@commonplace/proto/messaging/v1/message.js';
import { ListMessagesRequest } from '@commonplace/proto/messaging/v1/message_service.js';
import { CellFormat, type Content, GetContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import type { Resource } from '@commonplace/proto/resources/v1/resource.js';
import { GetResourceRequest, ResourceInclude } from '@commonplace/proto/resources/v1/resource_service.js';
import type { RunParts } from './parts.js';
import type { AutomationRunRecord } from './records.js';

type Data = Readonly<Record<string, unknown>>;
type ReadParts = Pick<RunParts, 'peers'>;

/** Thrown if the target of a trigger no longer exists, or the person whose rights the run has cannot read it. */
export class TargetGone extends Error {}

/** Events about deleted things, of which no data is read. */
const GONE = new Set(['resource.trashed', 'resource.purged', 'row.deleted', 'comment.deleted', 'message.deleted']);
const UNREADABLE: ReadonlySet<AppError['code']> = new Set(['NOT_FOUND', 'PERMISSION_DENIED', 'FAILED_PRECONDITION']);

/**
 * Reads the current data of an event's targets with the rights of the run: `resource`, `row`, `message`, `work_item`
 * and `form` for templates. Throws `TargetGone`.
 */
export async function readTriggerData(
  parts: ReadParts,
  { input = {} }: Pick<AutomationRunRecord, 'input'>,
  options: () => Promise<CallOptions>,
): Promise<Data> {
  const event = isObject(input.event) ? input.event : undefined;
  if (event === undefined || GONE.has(String(event.type))) return {};
  const facts = isObject(event.data) ? event.data : {};
  const resourceId = textOf(facts.resource_id) ?? firstOf(facts.resource_ids);
  const rowId = textOf(facts.row_id);
  const found: Record<string, unknown> = {};
  const read = async (name: string, one: () => Promise<unknown>) => {
    const value = await one().catch(throwGone);
    if (value === undefined) throw new TargetGone();
    found[name] = value;
  };
  if (resourceId !== undefined) await read('resource', () => readResource(parts, resourceId, options));
  if (resourceId !== undefined && rowId !== undefined) {
    await read('row', () => readRow(parts, resourceId, rowId, facts, options));
  }
  if (String(event.type).startsWith('message.')) await read('message', () => readMessage(parts, facts, options));
  const workItemId = textOf(facts.work_item_id);
  if (workItemId !== undefined) await read('work_item', () => readWorkItem(parts, workItemId, options));
  if (event.type === 'form.submitted') found.form = formOf(facts, found.row);
  return found;
}

function throwGone(error: unknown): never {
  if (error instanceof AppError && UNREADABLE.has(error.code)) throw new TargetGone();
  throw error;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const firstOf = (value: unknown): string | undefined => (Array.isArray(value) ? textOf(value[0]) : undefined);

async function readResource({ peers }: ReadParts, resourceId: string, options: () => Promise<CallOptions>) {
  const request = GetResourceRequest.fromPartial({ resourceId, include: [ResourceInclude.TAGS] });
  return resourceData(await peers.resources.getResource(request, await options()));
}

/** Returns a resource for templates, with the fields of the API that do not depend on the reader. */
function resourceData(resource: Resource): Data {
  const { type, metadata, tagRecords } = resource;
  return {
    id: resource.id,
    type: enumName(type, 'RESOURCE_TYPE'),
    name: resource.name,
    workspace_id: resource.workspaceId,
    parent_id: resource.parentId ?? null,
    icon: resource.icon ?? null,
    description: resource.description ?? null,
    external_id: resource.externalId ?? null,
    tags: (tagRecords?.items ?? []).map(({ id, name }) => ({ id, name })),
    metadata: metadata.length === 0 ? {} : JSON.parse(metadata.toString()),
    content_version: resource.contentVersion,
    created_by: personData(resource.createdBy),
    updated_by: personData(resource.updatedBy),
    created_at: resource.createdAt ?? null,
    updated_at: resource.updatedAt ?? null,
    version: resource.version,
  };
}

const personData = (actor: Resource['createdBy']) =>
  actor === undefined ? null : { type: enumName(actor.type, 'ACTOR_TYPE'), id: actor.id, name: actor.name };

async function readRow(
  { peers }: ReadParts,
  tableId: string,
  rowId: string,
  facts: Data,
  options: () => Promise<CallOptions>,
): Promise<Data | undefined> {
  const request = GetContentRequest.fromPartial({
    ...{ resourceId: tableId, rowIds: [rowId], cellFormat: CellFormat.RAW },
    page: { limit: 1, offset: 0, cursor: '' },
  });
  const content = await peers.content.getContent(request, await options());
  const row = rowData(tableId, content);
  return row && { ...row, changed_columns: changedColumns(content, facts) };
}

/** Returns ids and names of the columns that an event changed. Conditions may use the names. */
function changedColumns({ columns }: Pick<Content, 'columns'>, { changed_fields: changed }: Data): Data[] {
  const ids = new Set(Array.isArray(changed) ? changed : []);
  return listIn<ShownColumn>(columns).flatMap(({ id, name }) => (ids.has(id) ? [{ id, name }] : []));
}

interface ShownRow {
  readonly id: string;
  readonly cells: Readonly<Record<string, unknown>>;
}

interface ShownColumn {
  readonly id: string;
  readonly name: string;
  readonly options?: { readonly choices?: readonly { readonly id: string; readonly name: string }[] };
}

/**
 * Returns the first row of a content for templates: its cells by name and by id of the columns, with choices as names.
 */
export function rowData(tableId: string, content: Pick<Content, 'rows' | 'columns'>): Data | undefined {
  const [row] = listIn<ShownRow>(content.rows);
  if (row === undefined) return undefined;
  const columns = listIn<ShownColumn>(content.columns);
  const cells = columns.map((column) => [column, shown(row.cells[column.id] ?? null, column)] as const);
  return {
    id: row.id,
    table_id: tableId,
    // A column's id takes precedence over another column's name.
    cells: Object.fromEntries([
      ...cells.map(([{ name }, value]) => [name, value] as const),
      ...cells.map(([{ id }, value]) => [id, value] as const),
    ]),
  };
}

export const listIn = <T>(bytes: Buffer): readonly T[] => (bytes.length === 0 ? [] : JSON.parse(bytes.toString()));

function shown(value: unknown, { options }: ShownColumn): unknown {
  const choices = options?.choices;
  if (choices === undefined) return value;
  const nameOf = (one: unknown) => choices.find(({ id }) => id === one)?.name ?? one;
  return Array.isArray(value) ? value.map(nameOf) : nameOf(value);
}

async function readMessage(
  { peers }: ReadParts,
  facts: Data,
  options: () => Promise<CallOptions>,
): Promise<Data | undefined> {
  const conversationId = textOf(facts.conversation_id);
  const seq = Number(facts.seq);
  if (conversationId === undefined || !Number.isInteger(seq)) return undefined;
  const request = ListMessagesRequest.fromPartial({ conversationId, afterSeq: seq - 1, page: { limit: 1 } });
  const { items } = await peers.messages.listMessages(request, await options());
  const message = items.find((one) => one.seq === seq && !one.isDeleted);
  return message && messageData(message);
}

function messageData({ id, conversationId, seq, author, text, replyToId, createdAt }: Message): Data {
  return {
    ...{ id, conversation_id: conversationId, seq, author: personData(author), text: text ?? '' },
    ...{ reply_to_id: replyToId ?? null, created_at: createdAt ?? null },
  };
}

async function readWorkItem({ peers }: ReadParts, workItemId: string, options: () => Promise<CallOptions>) {
  return workItemData(await peers.workItems.getWorkItem({ workItemId, include: [] }, await options()));
}

function workItemData(item: WorkItem): Data {
  const { assignee } = item;
  return {
    ...{ id: item.id, number: item.number, workspace_id: item.workspaceId, title: item.title },
    ...{ description: item.description, labels: item.labels, parent_id: item.parentId ?? null },
    status: enumName(item.status, 'WORK_ITEM_STATUS'),
    priority: enumName(item.priority, 'WORK_ITEM_PRIORITY'),
    assignee: assignee
      ? { type: enumName(assignee.type, 'ASSIGNEE_TYPE'), id: assignee.id, name: assignee.name }
      : null,
    ...{ resource_ids: item.resourceIds, due_at: item.dueAt ?? null, start_at: item.startAt ?? null },
    ...{ completed_at: item.completedAt ?? null, external_id: item.externalId ?? null, version: item.version },
  };
}

/** Returns a form submission. If the event does not contain the values, they are those of the row. */
function formOf(facts: Data, row: unknown): Data {
  const values = isObject(facts.values) ? facts.values : isObject(row) ? row.cells : {};
  return { ...facts, values };
}
