import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { UpdateResourceRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import type { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import type { Node } from '../../domain/node.js';
import { requireCapability, requireWritable } from '../../policy.js';
import { putFileState } from '../../tree/file-node.js';
import { updateNode } from '../../tree/update.js';
import { nodeType } from '../../wire.js';
import type { TransferParts } from '../parts.js';
import { archivedIn } from './archived.js';
import type { ItemTerms } from './item-terms.js';
import { fittingName } from './names.js';
import { inputOf } from './node.js';

/**
 * Replaces the fields and the content of a resource by those of an item, if the caller may write it. A file gets its
 * new revision.
 */
export async function updateFromItem(
  parts: TransferParts,
  item: ImportItem,
  present: Node,
  terms: ItemTerms,
  context: CallContext,
): Promise<void> {
  const { subject } = terms;
  const seen = await parts.policy.see(present.id, subject);
  requireCapability(seen, 'write');
  if (present.type !== nodeType(item.type)) {
    throw new AppError(
      'INVALID_ARGUMENT',
      'invalid_type',
      `The resource that has this external id is of the type ${present.type}.`,
    );
  }
  requireWritable(seen);
  if (item.file !== undefined) {
    const { file, revision, update: bytesChanged } = item;
    putFileState(parts, present, { file, revision, bytesChanged, textChanged: false, actor: undefined }, context);
    return;
  }
  const updateMask = ['name'];
  if (item.icon !== undefined) updateMask.push('icon');
  if (item.description !== undefined) updateMask.push('description');
  if (item.metadataJson.length > 0) updateMask.push('metadata');
  if (item.tags.length > 0) updateMask.push('tags');
  const { icon, description, metadataJson: metadata, tags } = item;
  const name = fittingName(item.name, []);
  const request = UpdateResourceRequest.fromPartial({ updateMask, name, icon, description, metadata, tags });
  const input = await inputOf(parts, item, await archivedIn(item), terms);
  await updateNode(parts, seen, { ...request, ...(input === undefined ? {} : { input }) }, subject, context);
}
