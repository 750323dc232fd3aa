import type { CallContext } from '@commonplace/kit/rpc';
import type { ContentKind, Holder, PreparedWrite, Renaming } from '../content/kind.js';
import type { NewChunk } from './chunks.js';
import type { TableEngine } from './engine.js';
import { type ChunkImage, textOf } from './image.js';
import { entriesOf } from './records.js';
import { createChunkRedirect, redirectColumn } from './redirect.js';
import { createBreathe } from './slices.js';
import { freshHead } from './state.js';
import { type Head, outcome } from './write.js';
import type { TableWriter } from './writer.js';

/**
 * Creates the functions that prepare copies of tables. Cells that link to resources copied along with a table link to
 * their copies.
 */
export function createTableCopies(
  { states }: TableEngine,
  writer: TableWriter,
): Required<Pick<ContentKind, 'copy' | 'copyForm'>> {
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
    return writer.prepared({ ...empty, columns: [] }, { ...made, warnings: [], loses: false }, to.tenant, context);
  }

  return {
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
  };
}

/** Adds the table itself to the resources that are copied. */
function withItself(from: { readonly id: string }, to: Holder, renamed?: Renaming): Renaming {
  return (id) => (id === from.id ? to.id : renamed?.(id));
}
