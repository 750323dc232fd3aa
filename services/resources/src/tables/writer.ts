import type { CallContext } from '@commonplace/kit/rpc';
import { ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import { modeOf } from '../content/input.js';
import type { ContentInput, Holder, PreparedWrite } from '../content/kind.js';
import type { Node } from '../domain/node.js';
import type { Column } from './column.js';
import type { OpenTable } from './compute.js';
import type { TableEngine } from './engine.js';
import { MIN_THREAD_BYTES } from './planner.js';
import { createTableReader } from './read.js';
import { bare, chunkId, removeChunk, type StoredHead } from './records.js';
import { createBreathe } from './slices.js';
import { freshHead } from './state.js';
import { type Head, type NewRow, type Outcome, planAppend, planWrite, sameContent } from './write.js';

/** The parts of a call's context that a write needs. */
export type WriteContext = Pick<CallContext, 'work' | 'actor' | 'signal'>;

/** Rows that are ready to be appended to a table. */
export interface PreparedAppend extends PreparedWrite {
  /** The columns of the table after the append. */
  readonly columns: readonly Column[];
  /** Must be called after the commit; updates the cache, so that the next append need not read the last chunk again. */
  committed(): void;
}

export type TableWriter = ReturnType<typeof createTableWriter>;

/** Creates what plans, prepares and stores new states of tables. */
export function createTableWriter({ parts, cache, lists, states, opener }: TableEngine) {
  const { heads, chunks, settings } = parts;
  const limits = { maxRows: settings.tableRows, maxChoices: settings.tableChoices };

  /** Plans a write: in a worker thread if it is large and needs no stored rows, otherwise here in slices. */
  async function plan(
    { tenant }: Pick<Holder, 'tenant'>,
    head: Head,
    input: ContentInput,
    context: CallContext,
    how: { readonly isNewTable?: boolean; readonly isWhole?: boolean } = {},
  ): Promise<Outcome> {
    const { isNewTable = false, isWhole = false } = how;
    const { actor, deadline, signal } = context;
    const request = { head, input, actor, ...limits, isNewTable, isWhole };
    const needsNoRows = head.rowCount === 0 || modeOf(input) === ContentMode.REPLACE;
    const bytes = input.columns.length + input.rows.length + input.content.length;
    if (needsNoRows && !isWhole && bytes >= MIN_THREAD_BYTES) {
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

  /** Prepares storing a state that was planned. */
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

  /** Prepares appending rows, which read nothing of other tables. */
  function append(
    node: Pick<Node, 'id' | 'tenant'>,
    rows: readonly NewRow[],
    context: WriteContext,
  ): Promise<PreparedAppend> {
    return states.settled(async () => {
      const before = await heads.get(node.id);
      const head = before === undefined ? freshHead(node.id, '') : await lists.whole(node.id, before);
      const breathe = createBreathe(context.signal);
      const open: OpenTable = async () => undefined;
      const { actor } = context;
      const made = await planAppend({ head, states, ...limits, open, actor, breathe, isNewTable: false }, rows);
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
    });
  }

  return { plan, prepared, append };
}
