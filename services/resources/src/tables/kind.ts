import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type {
  ContentInput,
  ContentKind,
  ContentQuery,
  Holder,
  Part,
  PreparedWrite,
  Renaming,
  State,
} from '../content/kind.js';
import type { Node } from '../stores/nodes.js';
import { createTableCache } from './cache.js';
import type { NewChunk } from './chunks.js';
import type { Column } from './column.js';
import type { OpenTable } from './compute.js';
import { diffTables } from './diff.js';
import { createTableReader } from './read.js';
import {
  chunkId,
  contentHash,
  entriesOf,
  keptId,
  removeChunk,
  requireHead,
  type TableHead,
  type TableStores,
} from './records.js';
import { createBreathe } from './slices.js';
import { createTableStates, freshHead } from './state.js';
import { rowsAt, tableText } from './text.js';
import { type Head, type NewRow, type Outcome, outcome, planAppend, planWrite, sameContent } from './write.js';

export interface TableParts extends TableStores {
  readonly settings: { readonly tableRows: number; readonly tableCacheBytes: number };
  /** Whether the caller may read a node and it is a table, for links to other tables. */
  mayRead(nodeId: string, context: CallContext): Promise<boolean>;
}

/** What a write needs of the call that it is part of. */
export type WriteContext = Pick<CallContext, 'work' | 'actor' | 'signal'>;

/** Tables, and what forms ask of them. */
export interface TableKind extends ContentKind {
  /** The columns as they are, in their order; as `work` leaves them, where it is given. */
  columns(tableId: string, work?: UnitOfWork): Promise<readonly Column[]>;
  /**
   * Prepares rows at the table's end: each with a new id, and cells by column id. Throws with the faults of all
   * rows, each with its place in `row`.
   */
  append(node: Pick<Node, 'id' | 'tenant'>, rows: readonly NewRow[], context: WriteContext): Promise<PreparedWrite>;
}

/** Tables: columns, and rows in chunks of which a change writes anew those that it touches. */
export function createTableKind(parts: TableParts): TableKind {
  const { heads, chunks, settings } = parts;
  const cache = createTableCache(parts, settings.tableCacheBytes);
  const states = createTableStates(parts, cache);
  const reader = createTableReader(states);

  function opener(context: CallContext): OpenTable {
    return async (tableId) => {
      if (!(await parts.mayRead(tableId, context))) return undefined;
      return states.open(tableId, await states.head(tableId), createBreathe(context.signal));
    };
  }

  function page(tableId: string, head: Head, query: ContentQuery, context: CallContext) {
    return reader.page(tableId, head, query, opener(context), createBreathe(context.signal));
  }

  function writing(head: Head, input: ContentInput, context: CallContext, isNewTable: boolean): Promise<Outcome> {
    const breathe = createBreathe(context.signal);
    const { tableRows: maxRows } = settings;
    return planWrite({ head, input, states, maxRows, open: opener(context), context, breathe, isNewTable });
  }

  /** Puts a new state in the place of what this call sees, which a keep may have touched since it was read. */
  async function put({ head, fresh }: Pick<Outcome, 'head' | 'fresh'>, tenant: string, context: WriteContext) {
    const { work } = context;
    const breathe = createBreathe(context.signal);
    for (const [number, { text }] of fresh) {
      work.insert(chunks, { id: chunkId(head.id, number), tenant, text });
      await breathe();
    }
    const before = await work.get(heads, head.id);
    if (before === undefined) {
      work.insert(heads, { ...bare(head), tenant });
      return;
    }
    const present = new Set(head.chunks.map(([number]) => number));
    const dropped = [...before.chunks.map(([number]) => number), ...before.loose].filter(
      (number) => !present.has(number),
    );
    const { kept } = before;
    if (kept.length === 0) for (const number of dropped) removeChunk(parts, work, chunkId(head.id, number));
    work.replace(heads, before, { ...bare(head), tenant, kept, loose: kept.length === 0 ? [] : dropped });
  }

  function prepared(before: Head, made: Outcome, tenant: string, context: CallContext): PreparedWrite {
    const changed = !sameContent(before, made.head);
    return {
      changed,
      sizeBytes: changed ? made.head.bytes : before.bytes,
      warnings: made.warnings,
      loses: made.loses,
      apply: () => put(made, tenant, context),
      answer: (query) =>
        states.settled(() => {
          const later = createTableReader(states.with(made.fresh));
          return later.page(made.head.id, made.head, query, opener(context), createBreathe(context.signal));
        }),
    };
  }

  /** A table of the columns of another, with these rows. */
  function copied(
    head: Head,
    pieces: readonly NewChunk[],
    from: { readonly id: string },
    to: Holder,
    context: CallContext,
    renamed: Renaming = () => undefined,
  ): PreparedWrite {
    const columns = head.columns.map((column) => relinked(column, (id) => (id === from.id ? to.id : renamed(id))));
    const empty = freshHead(to.id, to.tenant);
    const made = outcome(empty, pieces, { ...head, columns });
    return prepared({ ...empty, columns: [] }, { ...made, warnings: [], loses: false }, to.tenant, context);
  }

  async function keptHead(tableId: string, snapshotId: string): Promise<TableHead> {
    return requireHead(parts, keptId(tableId, snapshotId));
  }

  return {
    async create(holder, input, context) {
      const head = freshHead(holder.id, holder.tenant);
      if (!bringsContent(input)) return NO_WRITE;
      return prepared(head, await writing(head, input, context, true), holder.tenant, context);
    },
    read: (node, query, context) =>
      states.settled(async () => page(node.id, await states.head(node.id), query, context)),
    readPublished: ({ node, keptId }, query, mayRead, context) =>
      states.settled(async () => {
        const head = keptId === undefined ? await states.head(node.id) : await keptHead(node.id, keptId);
        const breathe = createBreathe(context.signal);
        const open: OpenTable = async (id) =>
          mayRead(id) ? states.open(id, await states.head(id), createBreathe(context.signal)) : undefined;
        return reader.page(node.id, head, query, open, breathe);
      }),
    write: (node, input, context) =>
      states.settled(async () => {
        const head = await states.head(node.id);
        return prepared(head, await writing(head, input, context, false), node.tenant, context);
      }),
    async keep(node, snapshotId, { work }) {
      const before = await work.get(heads, node.id);
      const head = before ?? work.insert(heads, freshHead(node.id, node.tenant));
      work.insert(heads, { ...bare(head), id: keptId(node.id, snapshotId), kept: [], loose: [] });
      work.replace(heads, head, { ...bare(head), kept: [...head.kept, snapshotId] });
      return { sizeBytes: head.bytes, hash: contentHash(head) };
    },
    readKept: (node, snapshotId, query, context) =>
      states.settled(async () => page(node.id, await keptHead(node.id, snapshotId), query, context)),
    async restore(node, snapshotId, context) {
      const before = await states.head(node.id);
      const kept = await keptHead(node.id, snapshotId);
      const { columns, primary } = kept;
      const facts = { ...before, columns, primary, nextNumbers: larger(before.nextNumbers, kept.nextNumbers) };
      const made = outcome({ ...before, id: node.id }, entriesOf(kept), facts);
      const loses = before.rowCount > 0 && !sameContent(before, made.head);
      return prepared(before, { ...made, warnings: [], loses }, node.tenant, context);
    },
    async forget({ id }, snapshotId, { work }) {
      const kept = await work.get(heads, keptId(id, snapshotId));
      const head = await work.get(heads, id);
      if (kept === undefined || head === undefined) return;
      work.remove(heads, kept);
      const others = head.kept.filter((other) => other !== snapshotId);
      const used = new Set(head.chunks.map(([number]) => number));
      const loose = new Set(
        [...head.loose, ...kept.chunks.map(([number]) => number)].filter((number) => !used.has(number)),
      );
      const held = loose.size === 0 ? new Set<number>() : await heldBy(id, others, work);
      for (const number of loose) if (!held.has(number)) removeChunk(parts, work, chunkId(id, number));
      const left = [...loose].filter((number) => held.has(number));
      if (head.gone === true && others.length === 0) work.remove(heads, head);
      else work.replace(heads, head, { ...bare(head), kept: others, loose: left });
    },
    diff: ({ id }, from, to) =>
      states.settled(async () => {
        const headOf = (state: State) => (state === 'current' ? states.head(id) : keptHead(id, state.snapshotId));
        return diffTables(id, await headOf(from), await headOf(to), states);
      }),
    async copy(from, to, context, renamed) {
      const head = await states.head(from.id);
      return states.settled(async () => {
        const breathe = createBreathe(context.signal);
        const { view } = await states.open(from.id, head, breathe);
        const pieces: NewChunk[] = [];
        for (const [i, { number: _number, ...entry }] of entriesOf(head).entries()) {
          pieces.push({ ...entry, text: view.chunks[i]?.bytes.toString('utf8') ?? '' });
          await breathe();
        }
        return copied(head, pieces, from, to, context, renamed);
      });
    },
    async copyForm(from, to, context, renamed) {
      const head = await states.head(from.id);
      return copied({ ...head, nextNumbers: {}, people: [] }, [], from, to, context, renamed);
    },
    async remove({ id }, { work }) {
      const head = await work.get(heads, id);
      if (head === undefined) return;
      const numbers = [...head.chunks.map(([number]) => number), ...head.loose];
      if (head.kept.length > 0) {
        work.replace(heads, head, {
          ...bare(head),
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
      const head = (await work?.get(heads, tableId)) ?? (await states.head(tableId));
      return head.columns;
    },
    append: (node, rows, context) =>
      states.settled(async () => {
        const head = await states.head(node.id);
        const breathe = createBreathe(context.signal);
        const open: OpenTable = async () => undefined;
        const { tableRows: maxRows } = settings;
        const made = await planAppend({ head, states, maxRows, open, context, breathe, isNewTable: false }, rows);
        return {
          changed: true,
          sizeBytes: made.head.bytes,
          warnings: made.warnings,
          loses: false,
          apply: () => put(made, node.tenant, context),
        };
      }),
    text: (node) =>
      states.settled(async () => {
        const head = await heads.get(node.id);
        return head === undefined ? '' : tableText(node.id, head, states);
      }),
    async locate(places) {
      const found = new Map<string, (Part | undefined)[]>();
      for (const [id, some] of places) {
        const rows = await states.settled(async () => {
          const head = await heads.get(id);
          return head === undefined ? [] : rowsAt(id, head, states, some);
        });
        found.set(
          id,
          rows.map((rowId) => (rowId === undefined ? undefined : { rowId })),
        );
      }
      return found;
    },
  };

  async function heldBy(tableId: string, snapshotIds: readonly string[], work: UnitOfWork): Promise<Set<number>> {
    const held = new Set<number>();
    for (const snapshotId of snapshotIds) {
      const kept = await work.get(heads, keptId(tableId, snapshotId));
      for (const [number] of kept?.chunks ?? []) held.add(number);
    }
    return held;
  }
}

const NO_WRITE: PreparedWrite = { changed: false, sizeBytes: 0, warnings: [], loses: false, async apply() {} };

function bringsContent({ content, columns, rows }: ContentInput): boolean {
  return content.length > 0 || columns.length > 0 || rows.length > 0;
}

/** A head without its version, as it is written. */
function bare(head: Head & { readonly version?: number }): Head {
  const { version: _version, ...rest } = head;
  return rest;
}

/** A column of a copy: a link to the table itself, or to one that is copied with it, leads to the copy's rows. */
function relinked(column: Column, renamed: Renaming): Column {
  const target = renamed(column.options.target_table_id ?? '');
  return target === undefined ? column : { ...column, options: { ...column.options, target_table_id: target } };
}

function larger(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const all: Record<string, number> = { ...a };
  for (const [slot, number] of Object.entries(b)) all[slot] = Math.max(all[slot] ?? 1, number);
  return all;
}
