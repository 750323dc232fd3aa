import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { redirectHtml } from '../domain/html-links.js';
import { redirectJson } from '../domain/json-links.js';
import { redirectMarkdown } from '../domain/markdown-links.js';
import { frontMatterLength } from '../sources/markdown/front-matter.js';
import { ImportFault, type ItemContent, type ItemKind } from '../sources/port.js';
import type { PreparedFile } from './files.js';
import { createLinks, type Links } from './links.js';
import { type Further, isTable, splitJson } from './rows.js';
import type { Run } from './run-parts.js';

/** An item that was read, ready to be put. */
export interface Prepared {
  readonly seq: number;
  readonly item: ImportItem;
  /** What follows where it is too large for one call. */
  readonly further?: (() => Generator<Further>) | undefined;
  readonly links: Links;
  readonly rows: number;
  readonly warnings: readonly string[];
  readonly file?: PreparedFile | undefined;
  /** About as many bytes as it brings. */
  readonly bytes: number;
}

/** An item that can't be put, or need not be. */
export interface Refused {
  readonly seq: number;
  readonly status: 'failed' | 'skipped';
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly resourceId?: string;
}

export const TYPES: Record<ItemKind, ResourceType> = {
  folder: ResourceType.FOLDER,
  document: ResourceType.DOCUMENT,
  table: ResourceType.TABLE,
  artifact: ResourceType.ARTIFACT,
  file: ResourceType.FILE,
};

/** Reads an item and redirects its links. A fault of the item is its own; of the archive, it ends everything. */
export async function prepareItem(run: Run, seq: number): Promise<Prepared | Refused> {
  const refused = refusedBefore(run, seq);
  if (refused !== undefined) return refused;
  try {
    const source = run.items.item(seq);
    const content = source.kind === 'file' && !source.described ? {} : await run.items.source.read(source);
    const file = source.kind === 'file' ? await run.files.prepare(run, seq) : undefined;
    return prepared(run, seq, content, file);
  } catch (error) {
    if (!(error instanceof ImportFault) || run.isFatal(error)) throw error;
    const { code, message, retryable } = error;
    return { seq, status: 'failed', code, message, retryable };
  }
}

function refusedBefore({ items, existing, record }: Run, seq: number): Refused | undefined {
  const { parent } = items.item(seq);
  const above = parent === undefined ? undefined : items.seqOf(parent);
  if (above !== undefined && items.state(above) === 'failed') {
    const message = 'What it lies in was not imported.';
    return { seq, status: 'failed', code: 'parent_failed', message, retryable: true };
  }
  const unavailable = items.source.unavailable?.(items.item(seq));
  if (unavailable !== undefined) return { seq, status: 'skipped', ...unavailable, retryable: false };
  if (existing.covered.has(seq)) {
    const message = 'All that lies in it is there already.';
    return { seq, status: 'skipped', code: 'already_exists', message, retryable: false };
  }
  if (record.conflict !== 'skip' || !existing.conflicts.has(seq)) return undefined;
  const message = 'There is a resource of that external id.';
  return {
    seq,
    status: 'skipped',
    code: 'already_exists',
    message,
    retryable: false,
    resourceId: items.resourceId(seq),
  };
}

function prepared(run: Run, seq: number, content: ItemContent, file: PreparedFile | undefined): Prepared {
  const { items, existing, record, place } = run;
  const source = items.item(seq);
  const links = createLinks(run, seq);
  const body = bodyOf(content, links);
  const above = source.parent === undefined ? undefined : items.seqOf(source.parent);
  const isConflict = existing.conflicts.has(seq);
  const isThere = record.scope === 'all' && record.attempt > 1 && items.state(seq) !== 'pending';
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

interface Body {
  readonly fields: Partial<Pick<ImportItem, 'markdown' | 'html' | 'contentJson'>>;
  readonly further?: (() => Generator<Further>) | undefined;
  readonly rows: number;
  readonly bytes: number;
}

/** An item's content with its links redirected, as the tree takes it. */
function bodyOf({ markdown, html, json }: ItemContent, { redirect }: Links): Body {
  if (markdown !== undefined) {
    const text = redirectMarkdown(markdown, redirect, frontMatterLength(markdown));
    return { fields: { markdown: text }, rows: 0, bytes: Buffer.byteLength(text) };
  }
  if (html !== undefined) {
    const text = redirectHtml(html, redirect);
    return { fields: { html: text }, rows: 0, bytes: Buffer.byteLength(text) };
  }
  if (json === undefined) return { fields: {}, rows: 0, bytes: 0 };
  const redirected = redirectJson(json, redirect);
  const { first: contentJson, further } = splitJson(redirected);
  const rows = isTable(redirected) ? redirected.rows.length : 0;
  return { fields: { contentJson }, further, rows, bytes: contentJson.length };
}
