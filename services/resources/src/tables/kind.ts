import type { Actor } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type {
  ContentInput,
  ContentKind,
  ContentQuery,
  Holder,
  Part,
  Payload,
  State,
  Warning,
} from '../content/kind.js';
import { NO_WRITE } from '../content/kind.js';
import type { Node } from '../domain/node.js';
import type { Column } from './column.js';
import type { OpenTable } from './compute.js';
import { createTableCopies } from './copy.js';
import { diffTables } from './diff.js';
import { createTableEngine, type TableParts } from './engine.js';
import { createFaults } from './faults.js';
import { createKeptTables } from './kept.js';
import { createTableReader } from './read.js';
import { bare, chunkId, entriesOf, removeChunk } from './records.js';
import { createBreathe } from './slices.js';
import { freshHead } from './state.js';
import { rowsAt, tableText } from './text.js';
import { type Head, type NewRow, outcome, sameContent } from './write.js';
import { createTableWriter, type PreparedAppend, type WriteContext } from './writer.js';

/** The content kind of tables, with what forms need of them. */
export interface TableKind extends ContentKind {
  /** Returns the current columns in order, including changes in `work` if it is given. */
  columns(tableId: string, work?: UnitOfWork): Promise<readonly Column[]>;
  /**
   * Prepares appending rows to a table, each with a new id and with cells by column id. Throws one error with the
   * faults of all rows; `row` is the index of the row.
   */
  append(node: Pick<Node, 'id' | 'tenant'>, rows: readonly NewRow[], context: WriteContext): Promise<PreparedAppend>;
  /**
   * Returns a page of `SignedRow`s, with the people that they refer to. Reads a kept state if a snapshot is given. Shows
   * nothing of tables in other workspaces, because the readers of an archive of the workspace may not read them.
   */
  signed(
    node: Pick<Node, 'id' | 'workspaceId'>,
    snapshotId: string | undefined,
    query: ContentQuery,
    context: CallContext,
  ): Promise<{ readonly page: Payload; readonly people: readonly Actor[] }>;
}

/**
 * Creates the content kind of tables. A table is stored as its columns and its rows in chunks; a change rewrites only
 * the chunks that it affects.
 */
export function createTableKind(parts: TableParts): TableKind {
  const { heads } = parts;
  const engine = createTableEngine(parts);
  const { lists, states } = engine;
  const writer = createTableWriter(engine);
  const reader = createTableReader(states);

  function page(tableId: string, head: Head, query: ContentQuery, context: CallContext) {
    return reader.page(tableId, head, query, engine.opener(context), createBreathe(context.signal));
  }

  /** Plans the first content of a new table. */
  async function first(holder: Holder, input: ContentInput, context: CallContext) {
    const before = freshHead(holder.id, holder.tenant);
    const made = bringsContent(input)
      ? await writer.plan(holder, before, input, context, { isNewTable: true })
      : undefined;
    return { before, made };
  }

  /** Returns what a write of a table that changes its columns should warn of. */
  async function warningsOf(node: Node, before: Head, after: Head): Promise<readonly Warning[]> {
    if (node.form === undefined || JSON.stringify(before.columns) === JSON.stringify(after.columns)) return [];
    return parts.columnWarnings(node, after.columns);
  }

  return {
    ...createKeptTables(engine, writer),
    ...createTableCopies(engine, writer),
    append: writer.append,
    async create(holder, input, context) {
      const { before, made } = await first(holder, input, context);
      if (made === undefined) return NO_WRITE;
      await requireReadableLinks(parts, before, made.head, context);
      return writer.prepared(before, made, holder.tenant, context);
    },
    async restoreInput(holder, input, context) {
      const { before, made } = await first(holder, input, context);
      return made === undefined ? NO_WRITE : writer.prepared(before, made, holder.tenant, context);
    },
    read: (node, query, context) =>
      states.settled(async () => page(node.id, await states.head(node.id), query, context)),
    readPublished: ({ node, keptId }, query, mayRead, context) =>
      states.settled(async () => {
        const head = keptId === undefined ? await states.head(node.id) : await engine.keptHead(node.id, keptId);
        const breathe = createBreathe(context.signal);
        const open: OpenTable = async (id) =>
          mayRead(id) ? states.open(id, await states.head(id), createBreathe(context.signal)) : undefined;
        return reader.page(node.id, head, query, open, breathe);
      }),
    write: (node, input, context) =>
      states.settled(async () => {
        const head = await states.head(node.id);
        const made = await writer.plan(node, head, input, context);
        await requireReadableLinks(parts, head, made.head, context);
        const warnings = [...made.warnings, ...(await warningsOf(node, head, made.head))];
        return writer.prepared(head, { ...made, warnings }, node.tenant, context);
      }),
    readKept: (node, snapshotId, query, context) =>
      states.settled(async () => page(node.id, await engine.keptHead(node.id, snapshotId), query, context)),
    async restore(node, snapshotId, context) {
      const [before, kept] = await states.settled(async () => {
        return [await states.head(node.id), await engine.keptHead(node.id, snapshotId)] as const;
      });
      const { columns, primary, open } = kept;
      const facts = { ...before, columns, primary, open, nextNumbers: larger(before.nextNumbers, kept.nextNumbers) };
      const made = outcome({ ...before, id: node.id }, entriesOf(kept), facts);
      const loses = before.rowCount > 0 && !sameContent(before, made.head);
      const warnings = await warningsOf(node, before, made.head);
      return writer.prepared(before, { ...made, warnings, loses }, node.tenant, context);
    },
    diff: ({ id }, from, to, { signal }) =>
      states.settled(async () => {
        const headOf = (state: State) =>
          state === 'current' ? states.head(id) : engine.keptHead(id, state.snapshotId);
        return diffTables(id, await headOf(from), await headOf(to), states, createBreathe(signal));
      }),
    async remove({ id }, { work }) {
      const head = await work.get(heads, id);
      if (head === undefined) return;
      const numbers = [...(await lists.numbers(id, head, work)), ...head.loose];
      if (head.kept.length > 0) {
        const { list: _list, ...rest } = head;
        work.replace(heads, head, {
          ...bare(rest),
          gone: true,
          columns: [],
          chunks: [],
          rowCount: 0,
          bytes: 0,
          loose: numbers,
        });
        return;
      }
      for (const number of numbers) removeChunk(parts, work, chunkId(id, number));
      work.remove(heads, head);
    },
    async columns(tableId, work) {
      const head = (await work?.get(heads, tableId)) ?? (await heads.get(tableId)) ?? freshHead(tableId, '');
      return head.columns;
    },
    signed: ({ id, workspaceId }, snapshotId, query, context) =>
      states.settled(async () => {
        const head = snapshotId === undefined ? await states.head(id) : await engine.keptHead(id, snapshotId);
        const breathe = createBreathe(context.signal);
        const open = engine.opener(context, workspaceId);
        return { page: await reader.page(id, head, query, open, breathe, true), people: head.people };
      }),
    text: (node) =>
      states.settled(async () => {
        const head = await states.head(node.id);
        return head.version === undefined ? '' : tableText(node.id, head, states);
      }),
    async locate(places) {
      const found = new Map<string, (Part | undefined)[]>();
      for (const [id, some] of places) {
        const rows = await states.settled(async () => {
          const head = await states.head(id);
          return head.version === undefined ? [] : rowsAt(id, head, states, some);
        });
        found.set(
          id,
          rows.map((rowId) => (rowId === undefined ? undefined : { rowId })),
        );
      }
      return found;
    },
  };
}

/** Throws a fault for each column that comes to link to something other than a table that the caller may read. */
async function requireReadableLinks(
  { readableAmong }: Pick<TableParts, 'readableAmong'>,
  before: Head,
  after: Head,
  context: CallContext,
): Promise<void> {
  const targetOf = ({ type, options }: Column) => (type === 'link' ? options.target_table_id : undefined);
  const known = new Set(before.columns.map(targetOf));
  const added = new Set(after.columns.flatMap((column) => targetOf(column) ?? []).filter((id) => !known.has(id)));
  if (added.size === 0) return;
  const readable = await readableAmong([...added], context);
  const faults = createFaults();
  for (const column of after.columns) {
    const target = targetOf(column);
    if (target === undefined || !added.has(target) || readable.has(target)) continue;
    const message = `${column.name} (${column.id}): target_table_id must be a table that you can read.`;
    faults.add('columns', 'invalid_value', message);
  }
  faults.check();
}

function bringsContent({ content, columns, rows }: ContentInput): boolean {
  return content.length > 0 || columns.length > 0 || rows.length > 0;
}

function larger(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const all: Record<string, number> = { ...a };
  for (const [slot, number] of Object.entries(b)) all[slot] = Math.max(all[slot] ?? 1, number);
  return all;
}
