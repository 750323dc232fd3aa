import { valuesByName } from '@commonplace/platform/enums';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { ImportFault, type ItemKind } from '../sources/port.js';
import type { ItemFacts } from '../thread/protocol.js';
import type { Further } from '../thread/rows.js';
import type { SourceBody } from '../thread/source.js';
import { createLinks, type Links } from './links.js';
import type { PreparedFile, Run } from './run-parts.js';

/** Holds an item that was read and is ready to be written. */
export interface PreparedItem {
  readonly seq: number;
  readonly item: ImportItem;
  /** Yields the rest of an item that is too large for one call. */
  readonly further?: (() => AsyncGenerator<Further>) | undefined;
  readonly links: Links;
  readonly rows: number;
  readonly warnings: readonly string[];
  readonly file?: PreparedFile | undefined;
  /** Approximate size in bytes. */
  readonly bytes: number;
}

/** Describes an item that can't be written, or need not be. */
export interface RefusedItem {
  readonly seq: number;
  readonly status: 'failed' | 'skipped';
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly resourceId?: string;
}

const TYPES: Record<ItemKind, ResourceType> = valuesByName(ResourceType);

/**
 * Reads an item and redirects its links. Returns the result of an item that is skipped or fails; throws a fault of the
 * whole archive.
 */
export async function prepareItem(run: Run, seq: number): Promise<PreparedItem | RefusedItem> {
  const refused = refusedBefore(run, seq);
  if (refused !== undefined) return refused;
  try {
    const source = run.items.item(seq);
    const isRead = source.kind !== 'file' || source.described === true;
    const content: ItemFacts = isRead ? await run.items.source.read(source) : {};
    const links = createLinks(run, seq);
    const body = isRead ? await run.items.source.body(source, links.redirect) : NO_BODY;
    const file = source.kind === 'file' ? await run.files.prepare(run, seq) : undefined;
    return prepared(run, seq, content, body, links, file);
  } catch (error) {
    if (!(error instanceof ImportFault) || run.isFatal(error)) throw error;
    const { code, message, retryable } = error;
    return { seq, status: 'failed', code, message, retryable };
  }
}

function refusedBefore({ items, existing, record }: Run, seq: number): RefusedItem | undefined {
  if (items.isBelowFailed(seq)) return parentFailed(seq);
  const unavailable = items.source.unavailable?.(items.item(seq));
  if (unavailable !== undefined) return { seq, status: 'skipped', ...unavailable, retryable: false };
  if (existing.covered.has(seq)) {
    const message = 'Everything in it already exists.';
    return { seq, status: 'skipped', code: 'already_exists', message, retryable: false };
  }
  if (record.conflict !== 'skip' || !existing.conflicts.has(seq)) return undefined;
  const message = 'A resource with that external id already exists.';
  return {
    seq,
    status: 'skipped',
    code: 'already_exists',
    message,
    retryable: false,
    resourceId: items.resourceId(seq),
  };
}

/** Returns the result of an item below one that was not imported. */
export function parentFailed(seq: number): RefusedItem {
  const message = 'The folder or page above was not imported.';
  return { seq, status: 'failed', code: 'parent_failed', message, retryable: true };
}

function prepared(
  run: Run,
  seq: number,
  content: ItemFacts,
  body: SourceBody,
  links: Links,
  file: PreparedFile | undefined,
): PreparedItem {
  const { items, existing, record, place } = run;
  const source = items.item(seq);
  const above = source.parent === undefined ? undefined : items.seqOf(source.parent);
  const isConflict = existing.conflicts.has(seq);
  const isTriedAgain = record.scope === 'all' && record.attempt > 1 && !record.dryRun;
  const isThere = isTriedAgain && items.stateBefore(seq) !== 'pending';
  const { keepDates } = record.options;
  const author = content.author === undefined ? undefined : run.users.get(content.author.toLowerCase());
  const item = ImportItem.fromPartial({
    id: items.resourceId(seq),
    update: (isConflict && record.conflict === 'update') || isThere,
    type: TYPES[source.kind],
    name: content.title ?? source.name,
    uniqueName: isConflict && record.conflict === 'rename',
    parentId: above === undefined ? place.parentId : items.resourceId(above),
    accessMode: above === undefined && place.restrictEach ? AccessMode.RESTRICTED : AccessMode.INHERIT,
    externalId: source.externalId,
    icon: content.icon,
    description: content.description,
    metadataJson: content.metadata === undefined ? undefined : Buffer.from(JSON.stringify(content.metadata)),
    tags: [...(content.tags ?? [])],
    createdAt: keepDates ? content.createdAt : undefined,
    updatedAt: keepDates ? content.updatedAt : undefined,
    createdBy: author === undefined ? undefined : { type: ActorType.USER, ...author },
    ...body.fields,
    file: file?.summary,
    revision: file?.revision,
  });
  const { further } = body;
  return { seq, item, further, links, rows: body.rows, warnings: content.warnings ?? [], file, bytes: body.bytes };
}

/** Body of an item that is not read. */
const NO_BODY: SourceBody = { fields: {}, rows: 0, bytes: 0, further: undefined };
