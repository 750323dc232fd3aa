import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import type { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { NO_INPUT } from '../../content/input.js';
import type { ContentQuery } from '../../content/kind.js';
import { WHOLE_CONTENT } from '../../content/kind.js';
import type { Node } from '../../domain/node.js';
import { publishChange } from '../../events.js';
import { requireKind } from '../../kinds.js';
import { requireCapability, requireWritable } from '../../policy.js';
import type { TransferParts } from '../parts.js';
import { archivedIn } from './archived.js';
import type { ItemTerms } from './item-terms.js';
import { inputOf } from './node.js';

/**
 * Appends rows to a table whose first rows an import has stored, if the caller may write it. Returns `present` if the
 * table has more rows than should precede these, because then they are stored already. All pieces together are one
 * content, so the content version does not change.
 */
export async function appendRows(
  parts: TransferParts,
  item: ImportItem,
  present: Node,
  terms: ItemTerms,
  context: CallContext,
): Promise<'updated' | 'present'> {
  if (present.state === 'trashed') return 'present';
  const { tree, policy } = parts;
  const { subject } = terms;
  const tables = requireKind(parts.kinds, 'table');
  const seen = await policy.see(present.id, subject);
  requireCapability(seen, 'write');
  if (present.type !== 'table') throw new AppError('INVALID_ARGUMENT', 'not_a_table', 'Only tables have rows.');
  requireWritable(seen, present.importId === terms.importId);
  const { rowCount = 0 } = await tables.read(present, ONE_ROW, context);
  if (rowCount > item.rowsFrom) return 'present';
  if (rowCount < item.rowsFrom) {
    throw new AppError('ABORTED', 'version_conflict', 'Rows were removed before the table was completely imported.');
  }
  const input = await inputOf(parts, item, await archivedIn(item), terms);
  const rows = { ...(input ?? NO_INPUT), columns: NO_INPUT.columns, mode: ContentMode.APPEND };
  const prepared = await tables.write(present, rows, context);
  await prepared.apply();
  const after = context.work.replace(tree.nodes, present, { ...present, sizeBytes: prepared.sizeBytes });
  publishChange(context, { verb: 'content.updated', fields: ['content'], reason: 'append' }, after);
  return 'updated';
}

const ONE_ROW: ContentQuery = { ...WHOLE_CONTENT, page: { limit: 1, offset: 0, cursor: '' } };
