import type { Actor } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type {
  ImportItem,
  PutItemOutcome,
  PutItemsRequest,
} from '@commonplace/proto/resources/v1/tree_import_service.js';
import type { Node } from '../../domain/node.js';
import { publishChange } from '../../events.js';
import type { AccessSubject } from '../../policy.js';
import type { TransferParts } from '../parts.js';
import { keepStates } from './archived-data.js';
import { createImportHomes } from './homes.js';
import type { ItemTerms } from './item-terms.js';
import { insertItem } from './node.js';
import { createImportPeople } from './people.js';
import { refusalIn } from './refusals.js';
import { appendRows } from './rows.js';
import { tagsOfItems } from './tags.js';
import { updateFromItem } from './update.js';

/** Adds items to this call's work, each independently: a refused item reports why, and so do its descendants. */
export async function putItems(
  parts: TransferParts,
  { workspaceId, items, import: label }: PutItemsRequest,
  subject: AccessSubject,
  administers: boolean,
  call: CallContext,
): Promise<PutItemOutcome[]> {
  const context = label === undefined ? call : labelled(call, { type: 'import', id: label.id, name: label.name });
  const present = new Map((await parts.tree.getMany(items.map(({ id }) => id))).map((node) => [node.id, node]));
  const terms: ItemTerms = {
    subject,
    workspaceId,
    importId: label?.id,
    label: context.actor,
    administers,
    homes: createImportHomes(parts, workspaceId, subject, context),
    tags: await tagsOfItems(parts, items, workspaceId, subject, context),
    people: createImportPeople(parts, workspaceId, administers, label, context),
    taken: await takenIds(parts, items, workspaceId),
  };
  const outcomes: PutItemOutcome[] = [];
  const made: Node[] = [];
  for (const item of items) outcomes.push(await put(parts, item, present.get(item.id), terms, made, context));
  const [first, ...others] = made;
  if (first !== undefined) {
    parts.counters.add(context.work, made, 1);
    publishChange(context, { verb: 'resource.created' }, first, others);
  }
  return outcomes;
}

/**
 * Returns the same call with the import as its actor, so that snapshots of replaced content are labelled accordingly.
 */
function labelled(context: CallContext, actor: Actor): CallContext {
  return Object.create(context, { actor: { value: actor } }) as CallContext;
}

async function takenIds(
  { tree }: Pick<TransferParts, 'tree'>,
  items: readonly ImportItem[],
  workspaceId: string,
): Promise<Set<string>> {
  const keys = items.flatMap(({ externalId }) => (externalId === undefined ? [] : `${workspaceId}:${externalId}`));
  if (keys.length === 0) return new Set();
  const found = await tree.nodes.find({ where: { externalKey: { in: [...new Set(keys)] } }, limit: keys.length });
  return new Set(found.flatMap(({ externalId }) => externalId ?? []));
}

async function put(
  parts: TransferParts,
  item: ImportItem,
  present: Node | undefined,
  terms: ItemTerms,
  made: Node[],
  context: CallContext,
): Promise<PutItemOutcome> {
  const warnings: string[] = [];
  try {
    const status =
      present === undefined && !isFurther(item)
        ? 'created'
        : await putAgain(parts, item, present ?? missing(), terms, warnings, context);
    if (status === 'created') made.push(await insertItem(parts, item, terms, warnings, context));
    else if (status === 'updated') terms.homes.change(item.id);
    return { id: item.id, status, code: '', message: '', retryable: false, warnings };
  } catch (error) {
    const refusal = refusalIn(error);
    if (refusal === undefined) throw error;
    terms.homes.refuse(item.id);
    const { reason: code, message } = refusal;
    return { id: item.id, status: 'failed', code, message, retryable: refusal.code === 'ABORTED', warnings };
  }
}

/** Returns whether an earlier call has imported the beginning of an item. */
function isFurther({ rowsFrom, keptStates }: ImportItem): boolean {
  return rowsFrom > 0 || keptStates;
}

function missing(): never {
  throw new AppError('ABORTED', 'not_found', 'The resource was removed before it was completely imported.');
}

/** Handles an item whose resource exists: an earlier attempt created it, or the item is to replace it. */
async function putAgain(
  parts: TransferParts,
  item: ImportItem,
  present: Node,
  terms: ItemTerms,
  warnings: string[],
  context: CallContext,
): Promise<'updated' | 'present'> {
  if (present.workspaceId !== terms.workspaceId)
    throw new AppError('ABORTED', 'already_exists', 'The resource was moved to another workspace.');
  if (item.rowsFrom > 0) return appendRows(parts, item, present, terms, context);
  if (item.keptStates) return keepStates(parts, item, present, terms, warnings, context);
  if (!item.update && (item.file === undefined || present.state === 'trashed')) return 'present';
  await updateFromItem(parts, item, present, terms, context);
  return item.update ? 'updated' : 'present';
}
