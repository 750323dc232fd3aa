import { UUID_PATTERN } from '@commonplace/kit/id';
import { type Bundle, ImportFault, type ItemContent } from '../port.js';
import { type ArchivedContent, type ArchivedResource, readJson } from './shapes.js';

/** Holds an archive whose entries have been listed. */
export interface OpenedArchive {
  readonly bundle: Bundle;
  /** Ids of its resources. */
  readonly ids: ReadonlySet<string>;
  /** Ids of the resources that have children. */
  readonly parents: ReadonlySet<string>;
  readonly paths: ReadonlySet<string>;
}

const DOCUMENT_BYTES = 16 * 1024 * 1024;
const TABLE_BYTES = 512 * 1024 * 1024;
const TALK_BYTES = 64 * 1024 * 1024;
/** Bytes of snapshots that are imported with one resource; older snapshots are left out. */
const SNAPSHOT_BYTES = 32 * 1024 * 1024;
/** Bytes of one snapshot, so that it fits into a call. */
const STATE_BYTES = 8 * 1024 * 1024;

/**
 * Converts an archived resource to the content of an imported item. `archive` contains what only archives of this
 * product provide. Its references use the ids in the archive; `refs` has the link for each of these ids, which the
 * import redirects to the new resource.
 */
export async function contentOf(resource: ArchivedResource, opened: OpenedArchive): Promise<ItemContent> {
  const warnings: string[] = [];
  const body = await bodyOf(resource, opened);
  const comments = await commentsOf(resource, opened);
  const snapshots = await snapshotsOf(resource, opened, warnings);
  const { created_by: by, updated_by, access_mode, permissions, created_at, updated_at, content_version } = resource;
  const is_locked = resource.is_locked && !opened.parents.has(resource.id);
  // A resource whose children are yet to be created can't be locked.
  if (resource.is_locked && !is_locked)
    warnings.push('It was locked and is now unlocked, because it contains other resources.');
  const properties = {
    created_by: by,
    updated_by,
    created_at,
    updated_at,
    is_locked,
    access_mode,
    permissions,
    content_version,
  };
  if (resource.publication !== null) {
    warnings.push(
      `It was published as ${JSON.stringify(resource.publication.slug ?? '')} and is not published here: publish it again.`,
    );
  }
  const { columns, rows, people, ...content } = body;
  const table = rows === undefined ? {} : { columns, people, rows };
  const archive = { ...properties, content, comments, snapshots, form: resource.form };
  const refs = referencesIn(JSON.stringify([archive, table]), opened.ids);
  return {
    ...(resource.icon !== null && { icon: resource.icon }),
    ...(resource.description !== null && { description: resource.description }),
    ...(resource.metadata !== null && { metadata: resource.metadata }),
    ...(by?.email !== undefined && { author: by.email }),
    ...(created_at !== undefined && { createdAt: created_at }),
    ...(updated_at !== undefined && { updatedAt: updated_at }),
    tags: resource.tags,
    json: { archive: { ...archive, refs }, ...table },
    warnings,
  };
}

type Body = Readonly<Record<string, unknown>> & { readonly [field in 'columns' | 'people' | 'rows']?: unknown };

/** Returns the body of a resource: a text with its format, a table's columns and rows, or an artifact's fields. */
async function bodyOf({ type, content }: ArchivedResource, { bundle }: OpenedArchive): Promise<Body> {
  if (content === null || type === 'folder' || type === 'file') return {};
  const path = pathIn(content);
  if (type === 'table') return (await readJson(bundle, path, TABLE_BYTES)) as Body;
  const text = (await bundle.read(path, DOCUMENT_BYTES)).toString('utf8');
  const { path: _, ...fields } = content;
  return type === 'document' ? { ...fields, text } : { ...fields, source: text };
}

function pathIn({ path }: ArchivedContent): string {
  if (typeof path === 'string') return path;
  throw new ImportFault('item_invalid', 'The archive does not state where its content is.');
}

async function commentsOf({ comments }: ArchivedResource, { bundle, paths }: OpenedArchive): Promise<unknown> {
  return comments === null || !paths.has(comments) ? [] : readJson(bundle, comments, TALK_BYTES);
}

/** Reads snapshots, oldest first, up to the limits. */
async function snapshotsOf(
  { snapshots }: ArchivedResource,
  { bundle, paths }: OpenedArchive,
  warnings: string[],
): Promise<unknown[]> {
  const all = snapshots.filter((path) => paths.has(path));
  const sizeOf = (path: string): number => bundle.entry(path)?.sizeBytes ?? 0;
  const there = all.filter((path) => sizeOf(path) <= STATE_BYTES);
  if (there.length < all.length) {
    warnings.push(`${all.length - there.length} snapshots were not imported: each has more than 8 MiB.`);
  }
  const read: unknown[] = [];
  let bytes = 0;
  for (const path of there) {
    bytes += sizeOf(path);
    if (bytes > SNAPSHOT_BYTES) break;
    read.unshift(await readJson(bundle, path, TALK_BYTES));
  }
  if (read.length < there.length) {
    warnings.push(
      `The ${there.length - read.length} oldest snapshots were not imported: the snapshots are too large together.`,
    );
  }
  return read;
}

const UUIDS = new RegExp(`\\b${UUID_PATTERN}\\b`, 'g');

/** Returns the resources of the archive whose ids a text contains, each with a link to it. */
function referencesIn(text: string, ids: ReadonlySet<string>): { readonly id: string; readonly href: string }[] {
  const named = new Set(text.match(UUIDS));
  return [...named].filter((id) => ids.has(id)).map((id) => ({ id, href: `resource:${id}` }));
}
