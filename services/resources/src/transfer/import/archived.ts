import { UUID_PATTERN } from '@commonplace/kit/id';
import { type Breathe, createBreathe, encodeInSlices, parseJsonInSlices } from '@commonplace/kit/slices';
import { ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { NO_INPUT } from '../../content/input.js';
import type { ContentInput, Renaming, RowFacts } from '../../content/kind.js';
import type { DocumentFormat } from '../../documents/kind/records.js';
import type { NodeType } from '../../domain/node.js';
import { READ_ONLY_TYPES } from '../../tables/column.js';
import type { TransferParts } from '../parts.js';
import { type ArchiveJson, momentIn, recordIn, recordsIn } from './archive-json.js';
import type { ItemTerms } from './item-terms.js';
import { type NewNode, past } from './new-node.js';

/** What a workspace archive states about a resource beyond the fields that every import source has. */
export interface ArchivedItem {
  readonly restricted: boolean;
  readonly locked: boolean;
  readonly contentVersion: number;
  readonly createdBy: ArchiveJson;
  readonly updatedBy: ArchiveJson;
  readonly createdAt: string | undefined;
  readonly updatedAt: string | undefined;
  readonly content: ArchiveJson;
  /** For a table, as are `rows` and `people`. */
  readonly columns: unknown;
  readonly rows: unknown;
  /** The people to whom rows refer by index. */
  readonly people: unknown;
  readonly comments: readonly ArchiveJson[];
  /** Oldest first. */
  readonly snapshots: readonly ArchiveJson[];
  readonly permissions: readonly ArchiveJson[];
  /** The form of a table, if it has one. */
  readonly form: ArchiveJson | undefined;
  /** Maps an id in the archive to the id of the resource that it refers to now. */
  readonly renamed: Renaming;
}

const MARK = Buffer.from('{"archive":');

/** Returns the archive data in an item, which is read with pauses; undefined for items of other sources. */
export async function archivedIn({ contentJson }: Pick<ImportItem, 'contentJson'>): Promise<ArchivedItem | undefined> {
  if (!contentJson.subarray(0, MARK.length).equals(MARK)) return undefined;
  const read = await parseJsonInSlices(contentJson, createBreathe());
  const { archive: given, columns, rows, people } = recordIn(read);
  const archive = recordIn(given);
  const version = Number(archive.content_version);
  return {
    restricted: archive.access_mode === 'restricted',
    locked: archive.is_locked === true,
    contentVersion: Number.isSafeInteger(version) && version >= 1 && version < 2 ** 31 ? version : 1,
    createdBy: recordIn(archive.created_by),
    updatedBy: recordIn(archive.updated_by),
    createdAt: momentIn(archive.created_at),
    updatedAt: momentIn(archive.updated_at),
    content: recordIn(archive.content),
    columns,
    rows,
    people,
    comments: recordsIn(archive.comments),
    snapshots: recordsIn(archive.snapshots),
    permissions: recordsIn(archive.permissions),
    form: archive.form === undefined || archive.form === null ? undefined : recordIn(archive.form),
    renamed: renamingIn(archive.refs),
  };
}

const LINK = /^resource:([0-9a-f-]{36})$/;

/** Returns the map from old to new ids: the archive's reader has stated for each id in it where its link leads. */
function renamingIn(refs: unknown): Renaming {
  const renames = new Map<string, string>();
  for (const { id, href } of recordsIn(refs)) {
    const to = typeof href === 'string' ? LINK.exec(href)?.[1] : undefined;
    if (typeof id === 'string' && to !== undefined) renames.set(id, to);
  }
  return (id) => renames.get(id);
}

/** Returns a new node with the archive's fields. Authors, times and locks are kept only if an administrator imports. */
export async function asArchived(
  node: NewNode,
  archived: ArchivedItem,
  { administers, people }: ItemTerms,
): Promise<NewNode> {
  const versioned = { ...node, contentVersion: archived.contentVersion };
  if (!administers) return versioned;
  const [createdBy, updatedBy] = await people.actors([archived.createdBy, archived.updatedBy]);
  const now = new Date().toISOString();
  return {
    ...versioned,
    locked: archived.locked,
    ...(createdBy?.known && { createdBy: createdBy.actor, createdById: createdBy.actor.id, createdForId: undefined }),
    ...(updatedBy?.known && { updatedBy: updatedBy.actor }),
    createdAt: past(archived.createdAt, now),
    updatedAt: past(archived.updatedAt ?? archived.createdAt, now),
  };
}

/** Returns the content of an archived resource, with its references redirected to the imported resources. */
export async function archivedInput(
  parts: TransferParts,
  archived: ArchivedItem,
  type: NodeType,
  terms: ItemTerms,
): Promise<ContentInput | undefined> {
  const { content, columns, rows, people, renamed } = archived;
  if (type === 'table') return tableInput({ columns, rows, people }, renamed, terms);
  return bodyInput(parts, terms.workspaceId, content, type, renamed);
}

/** Returns the content of an archived snapshot, with its references redirected in the same way. */
export async function keptInput(
  parts: TransferParts,
  content: ArchiveJson,
  type: NodeType,
  renamed: Renaming,
  terms: ItemTerms,
): Promise<ContentInput | undefined> {
  return type === 'table'
    ? tableInput(content, renamed, terms)
    : bodyInput(parts, terms.workspaceId, content, type, renamed);
}

async function bodyInput(
  parts: TransferParts,
  tenant: string,
  content: ArchiveJson,
  type: NodeType,
  renamed: Renaming,
): Promise<ContentInput | undefined> {
  if (type === 'document') return documentInput(parts, tenant, content, renamed);
  return type === 'artifact' ? artifactInput(content, renamed) : undefined;
}

const REFERENCE = new RegExp(`resource:(${UUID_PATTERN})`, 'g');
const FORMATS: readonly string[] = ['markdown', 'html', 'text', 'json'];

/** Returns a document's text in its original format. */
async function documentInput(
  parts: Pick<TransferParts, 'kinds'>,
  tenant: string,
  { format, text: given }: ArchiveJson,
  renamed: Renaming,
): Promise<ContentInput | undefined> {
  if (typeof given !== 'string' || !FORMATS.includes(format as string)) return undefined;
  const body = { format: format as DocumentFormat, text: given };
  const { text: read } = await parts.kinds.document.redirected(tenant, body, renamed);
  // The parser of references treats HTML within Markdown as text, so ids in it are replaced here.
  const text = read.replace(REFERENCE, (whole, id: string) => (renamed(id) ? `resource:${renamed(id)}` : whole));
  if (body.format === 'markdown') return { ...NO_INPUT, markdown: text };
  if (body.format === 'html') return { ...NO_INPUT, html: text };
  if (body.format === 'json') return { ...NO_INPUT, document: Buffer.from(text) };
  return { ...NO_INPUT, content: Buffer.from(JSON.stringify(text)), format: ContentFormat.TEXT };
}

const ARTIFACT_FIELDS = ['artifact_type', 'language', 'source', 'title', 'entry'];

/** Returns an artifact's fields; leaves out assets that were not imported. */
function artifactInput(given: ArchiveJson, renamed: Renaming): ContentInput {
  const assets = recordsIn(given.assets).flatMap(({ name, resource_id: old }) => {
    const id = typeof old === 'string' ? renamed(old) : undefined;
    return id === undefined ? [] : [{ name, resource_id: id }];
  });
  const fields = Object.fromEntries(ARTIFACT_FIELDS.map((name) => [name, given[name] ?? undefined]));
  return { ...NO_INPUT, content: Buffer.from(JSON.stringify({ ...fields, assets })) };
}

/** Returns a table's columns and rows. Authors and times of rows are kept only if an administrator imports. */
async function tableInput(
  { columns, rows, people }: ArchiveJson,
  renamed: Renaming,
  terms: ItemTerms,
): Promise<ContentInput | undefined> {
  if (!Array.isArray(columns) || !Array.isArray(rows)) return undefined;
  const rowFacts = await rowFactsIn(columns, rows, people, terms);
  return { ...NO_INPUT, ...(await tableFields(columns, rows, renamed, createBreathe())), rowFacts };
}

async function rowFactsIn(
  columns: readonly unknown[],
  rows: readonly unknown[],
  people: unknown,
  terms: ItemTerms,
): Promise<RowFacts[]> {
  const numbered = recordsIn(columns).flatMap(({ id, type }) => (type === 'auto_number' ? [String(id)] : []));
  const given = terms.administers ? recordsIn(people) : [];
  const known = (await terms.people.actors(given)).map(({ actor }) => actor);
  const now = Date.now();
  const pastIn = (value: unknown): number | undefined => {
    const at = typeof value === 'string' && terms.administers ? Date.parse(value) : Number.NaN;
    return Number.isNaN(at) ? undefined : Math.min(at, now);
  };
  const facts: RowFacts[] = [];
  const breathe = createBreathe();
  for (const { cells, created_at, created_by, updated_at, updated_by } of recordsIn(rows)) {
    facts.push({
      createdAt: pastIn(created_at),
      createdBy: known[Number(created_by)],
      updatedAt: pastIn(updated_at),
      updatedBy: known[Number(updated_by)],
      numbers: numbered.length === 0 ? undefined : numbersIn(recordIn(cells), numbered),
    });
    await breathe();
  }
  return facts;
}

function numbersIn(cells: ArchiveJson, columnIds: readonly string[]): Record<string, number> {
  const numbers = columnIds.map((id) => [id, cells[id]] as const);
  return Object.fromEntries(numbers.filter((one): one is [string, number] => isCount(one[1])));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) < Number.MAX_SAFE_INTEGER;
}

async function tableFields(columns: readonly unknown[], rows: readonly unknown[], renamed: Renaming, breathe: Breathe) {
  const computed = new Set(
    recordsIn(columns).flatMap(({ id, type }) => ((READ_ONLY_TYPES as readonly unknown[]).includes(type) ? [id] : [])),
  );
  const kept: string[] = [];
  for (const { id, cells } of recordsIn(rows)) {
    const own = Object.fromEntries(Object.entries(recordIn(cells)).filter(([column]) => !computed.has(column)));
    kept.push(JSON.stringify(redirect({ id, cells: own }, renamed)));
    await breathe();
  }
  return {
    columns: Buffer.from(JSON.stringify(redirect(columns, renamed))),
    rows: await encodeInSlices(`[${kept.join(',')}]`, breathe),
  };
}

/** Returns JSON in which every string that is an old id is replaced by the new one. */
function redirect(value: unknown, renamed: Renaming): unknown {
  if (typeof value === 'string') return renamed(value) ?? value;
  if (Array.isArray(value)) return value.map((one) => redirect(one, renamed));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, redirect(one, renamed)]));
}
