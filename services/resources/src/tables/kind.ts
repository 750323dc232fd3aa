import type { Actor } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import { LostRace, type UnitOfWork } from '@commonplace/kit/store';
import { ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import { modeOf } from '../content/input.js';
import type {
  ContentInput,
  ContentKind,
  ContentQuery,
  Holder,
  Part,
  Payload,
  PreparedWrite,
  Renaming,
  State,
} from '../content/kind.js';
import type { Node } from '../domain/node.js';
import { createTableCache } from './cache.js';
import { contentHashOf, type NewChunk } from './chunks.js';
import type { Column } from './column.js';
import type { OpenTable } from './compute.js';
import { diffTables } from './diff.js';
import { type ChunkImage, textOf } from './image.js';
import { createChunkLists } from './lists.js';
import { MIN_THREAD_BYTES, type TablePlanner } from './planner.js';
import { createTableReader } from './read.js';
import {
  chunkId,
  contentHash,
  entriesOf,
  keptId,
  type PackedEntry,
  removeChunk,
  requireHead,
  type StoredHead,
  type TableHead,
  type TableStores,
} from './records.js';
import { createChunkRedirect, redirectColumn } from './redirect.js';
import { BETWEEN } from './rows.js';
import { createBreathe } from './slices.js';
import { createTableStates, freshHead } from './state.js';
import { rowsAt, tableText } from './text.js';
import { type Head, type NewRow, type Outcome, outcome, planAppend, planWrite, sameContent } from './write.js';

export interface TableParts extends TableStores {
  readonly settings: { readonly tableRows: number; readonly tableCacheBytes: number };
  readonly planner: Pick<TablePlanner, 'plan'>;
  /**
   * Returns whether a node is a table that the caller may read, for links to other tables; with a workspace, only if it
   * is there.
   */
  mayRead(nodeId: string, context: CallContext, workspaceId?: string): Promise<boolean>;
}

/** The parts of a call's context that a write needs. */
export type WriteContext = Pick<CallContext, 'work' | 'actor' | 'signal'>;

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

/** Rows that are ready to be appended to a table. */
export interface PreparedAppend extends PreparedWrite {
  /** The columns of the table after the append. */
  readonly columns: readonly Column[];
  /** Must be called after the commit; updates the cache, so that the next append need not read the last chunk again. */
  committed(): void;
}

/**
 * Creates the content kind of tables: columns, and rows in chunks, of which a change rewrites only those that it
 * affects.
 */
export function createTableKind(parts: TableParts): TableKind {
  const { heads, chunks, settings } = parts;
  const cache = createTableCache(parts, settings.tableCacheBytes);
  const lists = createChunkLists(parts);
  const states = createTableStates(parts, cache, lists);
  const reader = createTableReader(states);

  function opener(context: CallContext, workspaceId?: string): OpenTable {
    return async (tableId) => {
      if (!(await parts.mayRead(tableId, context, workspaceId))) return undefined;
      return states.open(tableId, await states.head(tableId), createBreathe(context.signal));
    };
  }

  function page(tableId: string, head: Head, query: ContentQuery, context: CallContext) {
    return reader.page(tableId, head, query, opener(context), createBreathe(context.signal));
  }

  /** Plans a write: in a worker thread if it is large and needs no stored rows, otherwise here in slices. */
  async function writing(
    { tenant }: Pick<Holder, 'tenant'>,
    head: Head,
    input: ContentInput,
    context: CallContext,
    how: { readonly isNewTable?: boolean; readonly isWhole?: boolean } = {},
  ): Promise<Outcome> {
    const { isNewTable = false, isWhole = false } = how;
    const { actor, deadline, signal } = context;
    const request = { head, input, actor, maxRows: settings.tableRows, isNewTable, isWhole };
    const needsNoRows = head.rowCount === 0 || modeOf(input) === ContentMode.REPLACE;
    if (needsNoRows && !isWhole && input.rows.length + input.content.length >= MIN_THREAD_BYTES) {
      const outcome = await parts.planner.plan(tenant, request, deadline);
      signal?.throwIfAborted();
      if (outcome !== undefined) return outcome;
    }
    return planWrite({ ...request, states, open: opener(context), breathe: createBreathe(signal) });
  }

  /** Replaces the state that this call sees, which may have changed since it was read because a snapshot was taken. */
  async function put(made: Pick<Outcome, 'head' | 'fresh'>, tenant: string, context: WriteContext): Promise<void> {
    await putFor(await context.work.get(heads, made.head.id), made, tenant, context);
  }

  /** Replaces one state by another. Returns the numbers of the chunks that the new state no longer has. */
  async function putFor(
    before: StoredHead | undefined,
    { head, fresh }: Pick<Outcome, 'head' | 'fresh'>,
    tenant: string,
    context: WriteContext,
  ): Promise<readonly number[]> {
    const { work } = context;
    const breathe = createBreathe(context.signal);
    for (const [number, { text }] of fresh) {
      work.insert(chunks, { id: chunkId(head.id, number), tenant, text });
      await breathe();
    }
    const { stored, dropped } = await lists.pack({ ...bare(head), tenant }, before, work);
    if (before === undefined) {
      work.insert(heads, stored);
      return [];
    }
    const { kept } = before;
    if (kept.length === 0) for (const number of dropped) removeChunk(parts, work, chunkId(head.id, number));
    work.replace(heads, before, { ...stored, kept, loose: kept.length === 0 ? [] : dropped });
    return dropped;
  }

  function prepared(
    before: Head,
    made: Omit<Outcome, 'rows'> & Partial<Outcome>,
    tenant: string,
    context: CallContext,
  ): PreparedWrite {
    const changed = !sameContent(before, made.head);
    return {
      changed,
      sizeBytes: changed ? made.head.bytes : before.bytes,
      warnings: made.warnings,
      loses: made.loses,
      ...(made.rows !== undefined && { rows: made.rows }),
      apply: () => put(made, tenant, context),
      answer: (query) =>
        states.settled(() => {
          const later = createTableReader(states.with(made.fresh));
          return later.page(made.head.id, made.head, query, opener(context), createBreathe(context.signal));
        }),
    };
  }

  /** Prepares a table with the columns of another, and with these rows. */
  function copied(
    head: Head,
    pieces: readonly NewChunk[],
    to: Holder,
    context: CallContext,
    renamed: Renaming,
  ): PreparedWrite {
    const columns = head.columns.map((column) => redirectColumn(column, renamed));
    const empty = freshHead(to.id, to.tenant);
    const made = outcome(empty, pieces, { ...head, columns });
    return prepared({ ...empty, columns: [] }, { ...made, warnings: [], loses: false }, to.tenant, context);
  }

  async function keptHead(tableId: string, snapshotId: string): Promise<TableHead> {
    return lists.whole(tableId, await requireHead(parts, keptId(tableId, snapshotId)));
  }

  return {
    async create(holder, input, context) {
      const head = freshHead(holder.id, holder.tenant);
      if (!bringsContent(input)) return NO_WRITE;
      return prepared(head, await writing(holder, head, input, context, { isNewTable: true }), holder.tenant, context);
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
        return prepared(head, await writing(node, head, input, context), node.tenant, context);
      }),
    async keep(node, snapshotId, { work }) {
      const before = await work.get(heads, node.id);
      const head = before ?? work.insert(heads, freshHead(node.id, node.tenant));
      work.insert(heads, { ...bare(head), id: keptId(node.id, snapshotId), kept: [], loose: [] });
      work.replace(heads, head, { ...bare(head), kept: [...head.kept, snapshotId] });
      return { sizeBytes: head.bytes, hash: await hashOf(head, work) };
    },
    async keepInput(node, snapshotId, input, context) {
      const { work } = context;
      const stored = (await work.get(heads, node.id)) ?? work.insert(heads, freshHead(node.id, node.tenant));
      const before = await lists.whole(node.id, stored, work);
      // Assigns slots for its columns and people after those of the current table, as if it were an earlier state of
      // the table.
      const nothing: Head = { ...bare(before), chunks: [], rowCount: 0, bytes: 0, open: 0, nextNumbers: {} };
      const { head, fresh } = await states.settled(() => writing(node, nothing, input, context, { isWhole: true }));
      const shared = new Map([...before.chunks, ...(await lastKept(before, work))].map(([n, , , hash]) => [hash, n]));
      const entries = head.chunks.map(([n, rows, bytes, hash, content]): PackedEntry => {
        return [shared.get(hash) ?? n, rows, bytes, hash, content];
      });
      const used = new Set(entries.map(([n]) => n));
      for (const [n, { text }] of fresh) {
        if (used.has(n)) work.insert(chunks, { id: chunkId(node.id, n), tenant: node.tenant, text });
      }
      const state = { ...head, tenant: node.tenant, chunks: entries, kept: [], loose: [] };
      const kept = (await lists.pack(state, undefined, work)).stored;
      work.insert(heads, { ...kept, id: keptId(node.id, snapshotId) });
      const { nextChunk, nextSlot, people } = kept;
      work.replace(heads, stored, { ...bare(stored), nextChunk, nextSlot, people, kept: [...stored.kept, snapshotId] });
      const contents = entries.map(([, , , , content]) => content);
      return { sizeBytes: head.bytes, hash: contentHash(state, contents) };
    },
    readKept: (node, snapshotId, query, context) =>
      states.settled(async () => page(node.id, await keptHead(node.id, snapshotId), query, context)),
    async restore(node, snapshotId, context) {
      const [before, kept] = await states.settled(async () => {
        return [await states.head(node.id), await keptHead(node.id, snapshotId)] as const;
      });
      const { columns, primary, open } = kept;
      const facts = { ...before, columns, primary, open, nextNumbers: larger(before.nextNumbers, kept.nextNumbers) };
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
      const used = new Set(await lists.numbers(id, head, work));
      const loose = new Set(
        [...head.loose, ...(await lists.numbers(id, kept, work))].filter((number) => !used.has(number)),
      );
      const held = loose.size === 0 ? new Set<number>() : await heldBy(id, others, work);
      for (const number of loose) if (!held.has(number)) removeChunk(parts, work, chunkId(id, number));
      const left = [...loose].filter((number) => held.has(number));
      if (head.gone === true && others.length === 0) work.remove(heads, head);
      else work.replace(heads, head, { ...bare(head), kept: others, loose: left });
    },
    diff: ({ id }, from, to, { signal }) =>
      states.settled(async () => {
        const headOf = (state: State) => (state === 'current' ? states.head(id) : keptHead(id, state.snapshotId));
        return diffTables(id, await headOf(from), await headOf(to), states, createBreathe(signal));
      }),
    async copy(from, to, context, renamed) {
      return states.settled(async () => {
        const head = await states.head(from.id);
        const breathe = createBreathe(context.signal);
        const { view } = await states.open(from.id, head, breathe);
        const rename = withItself(from, to, renamed);
        const redirect = createChunkRedirect(head.columns, rename);
        const pieces: NewChunk[] = [];
        for (const [i, { number: _number, ...entry }] of entriesOf(head).entries()) {
          pieces.push(redirect({ ...entry, text: textOf(view.chunks[i] as ChunkImage), open: false }));
          await breathe();
        }
        return copied(head, pieces, to, context, rename);
      });
    },
    async copyForm(from, to, context, renamed) {
      const head = await states.settled(() => states.head(from.id));
      const empty = { ...head, nextNumbers: {}, people: [], open: 0 };
      return copied(empty, [], to, context, withItself(from, to, renamed));
    },
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
        const head = snapshotId === undefined ? await states.head(id) : await keptHead(id, snapshotId);
        const breathe = createBreathe(context.signal);
        const open = opener(context, workspaceId);
        return { page: await reader.page(id, head, query, open, breathe, true), people: head.people };
      }),
    append: (node, rows, context) =>
      states.settled(async () => {
        const before = await heads.get(node.id);
        const head = before === undefined ? freshHead(node.id, '') : await lists.whole(node.id, before);
        const breathe = createBreathe(context.signal);
        const open: OpenTable = async () => undefined;
        const { tableRows: maxRows } = settings;
        const { actor } = context;
        const made = await planAppend({ head, states, maxRows, open, actor, breathe, isNewTable: false }, rows);
        let dropped: readonly number[] = [];
        return {
          changed: true,
          columns: made.head.columns,
          sizeBytes: made.head.bytes,
          warnings: made.warnings,
          loses: false,
          async apply() {
            dropped = await putFor(before, made, node.tenant, context);
          },
          committed: () => cache.replace(node.id, dropped, made.fresh),
        };
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

  /** Returns the hash of a table's contents, which does not depend on the parts in which its last rows were stored. */
  async function hashOf(head: StoredHead, work: UnitOfWork): Promise<string> {
    const whole = await lists.whole(head.id, head, work);
    const contents = whole.chunks.map(([, , , , content]) => content);
    const { open = 1 } = whole;
    if (open < 2) return contentHash(whole, contents);
    const lines: string[] = [];
    for (const [number] of whole.chunks.slice(-open)) {
      const part = await work.get(chunks, chunkId(head.id, number));
      if (part === undefined) throw new LostRace(chunks.spec.name, chunkId(head.id, number));
      lines.push(...part.text.split(BETWEEN));
    }
    return contentHash(whole, [...contents.slice(0, -open), contentHashOf(lines)]);
  }

  /** Returns the chunks of the most recently kept state. */
  async function lastKept({ id, kept }: Head, work: UnitOfWork): Promise<readonly PackedEntry[]> {
    const last = kept.at(-1);
    const head = last === undefined ? undefined : await work.get(heads, keptId(id, last));
    return head === undefined ? [] : (await lists.whole(id, head, work)).chunks;
  }

  async function heldBy(tableId: string, snapshotIds: readonly string[], work: UnitOfWork): Promise<Set<number>> {
    const held = new Set<number>();
    for (const snapshotId of snapshotIds) {
      const kept = await work.get(heads, keptId(tableId, snapshotId));
      if (kept !== undefined) for (const number of await lists.numbers(tableId, kept, work)) held.add(number);
    }
    return held;
  }
}

const NO_WRITE: PreparedWrite = { changed: false, sizeBytes: 0, warnings: [], loses: false, async apply() {} };

function bringsContent({ content, columns, rows }: ContentInput): boolean {
  return content.length > 0 || columns.length > 0 || rows.length > 0;
}

/** Returns a head without its version, in the form in which it is written. */
function bare<T extends Head & { readonly version?: number }>(head: T): Omit<T, 'version'> {
  const { version: _version, ...rest } = head;
  return rest;
}

/** Adds the table itself to the resources that are copied. */
function withItself(from: { readonly id: string }, to: Holder, renamed?: Renaming): Renaming {
  return (id) => (id === from.id ? to.id : renamed?.(id));
}

function larger(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const all: Record<string, number> = { ...a };
  for (const [slot, number] of Object.entries(b)) all[slot] = Math.max(all[slot] ?? 1, number);
  return all;
}
