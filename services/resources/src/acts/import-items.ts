import type { Actor } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type {
  ImportItem,
  PutItemOutcome,
  PutItemsRequest,
} from '@commonplace/proto/resources/v1/tree_import_service.js';
import { publishChange } from '../events.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import type { Node } from '../stores/nodes.js';
import { createImportHomes, type ImportHomes } from './import-homes.js';
import { insertItem } from './import-node.js';
import { createImportPeople, type ImportPeople } from './import-people.js';
import { appendRows } from './import-rows.js';
import { type TagIds, tagsOfItems } from './import-tags.js';
import { keepStates } from './import-talk.js';
import { updateFromItem } from './import-update.js';

/** What holds for all items of one call. */
export interface ItemTerms {
  readonly standing: Standing;
  readonly workspaceId: string;
  readonly importId: string | undefined;
  /** Whom items name as who made them, where they name nobody. */
  readonly label: Actor;
  /** Authors and times of others are kept. */
  readonly administers: boolean;
  readonly homes: ImportHomes;
  readonly tags: TagIds;
  readonly people: ImportPeople;
  /** External ids that others have: items go without. */
  readonly taken: Set<string>;
}

/** Adds items to this call's work, each for itself: one that is refused says why, and so do those below it. */
export async function putItems(
  parts: Parts,
  { workspaceId, items, import: label }: PutItemsRequest,
  standing: Standing,
  administers: boolean,
  call: CallContext,
): Promise<PutItemOutcome[]> {
  const context = label === undefined ? call : labelled(call, { type: 'import', id: label.id, name: label.name });
  const present = new Map((await parts.tree.getMany(items.map(({ id }) => id))).map((node) => [node.id, node]));
  const terms: ItemTerms = {
    standing,
    workspaceId,
    importId: label?.id,
    label: context.actor,
    administers,
    homes: createImportHomes(parts, workspaceId, standing, context),
    tags: await tagsOfItems(parts, items, workspaceId, standing, context),
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

/** The same call, whose changes are labelled as the import's: what they replace is kept as such. */
function labelled(context: CallContext, actor: Actor): CallContext {
  return Object.create(context, { actor: { value: actor } }) as CallContext;
}

async function takenIds({ tree }: Parts, items: readonly ImportItem[], workspaceId: string): Promise<Set<string>> {
  const keys = items.flatMap(({ externalId }) => (externalId === undefined ? [] : `${workspaceId}:${externalId}`));
  if (keys.length === 0) return new Set();
  const found = await tree.nodes.find({ where: { externalKey: { in: [...new Set(keys)] } }, limit: keys.length });
  return new Set(found.flatMap(({ externalId }) => externalId ?? []));
}

async function put(
  parts: Parts,
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
    return { id: item.id, status, code: '', message: '', retryable: false, warnings };
  } catch (error) {
    const refusal = refusalIn(error);
    if (refusal === undefined) throw error;
    terms.homes.refuse(item.id);
    const { reason: code, message } = refusal;
    return { id: item.id, status: 'failed', code, message, retryable: refusal.code === 'ABORTED', warnings };
  }
}

/** Whether a call before has brought the beginning of an item. */
function isFurther({ rowsFrom, keptStates }: ImportItem): boolean {
  return rowsFrom > 0 || keptStates;
}

function missing(): never {
  throw new AppError('ABORTED', 'not_found', 'The resource was removed before all of it was there.');
}

/** An item whose resource is there: an earlier attempt has put it, or it is to be replaced. */
async function putAgain(
  parts: Parts,
  item: ImportItem,
  present: Node,
  terms: ItemTerms,
  warnings: string[],
  context: CallContext,
): Promise<'updated' | 'present'> {
  if (present.workspaceId !== terms.workspaceId) throw new AppError('ABORTED', 'already_exists', 'It was moved away.');
  if (item.rowsFrom > 0) return appendRows(parts, item, present, terms, context);
  if (item.keptStates) return keepStates(parts, item, present, terms, warnings, context);
  if (!item.update && (item.file === undefined || present.state === 'trashed')) return 'present';
  await updateFromItem(parts, item, present, terms, context);
  return item.update ? 'updated' : 'present';
}

/** What a request would be refused with; undefined for what is no fault of the item. */
function refusalIn(error: unknown): AppError | undefined {
  return error instanceof AppError && REFUSALS.has(error.code) ? error : undefined;
}

const REFUSALS: ReadonlySet<AppError['code']> = new Set([
  'INVALID_ARGUMENT',
  'FAILED_PRECONDITION',
  'PERMISSION_DENIED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'ABORTED',
]);
