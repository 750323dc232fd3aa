import { AppError } from '@commonplace/kit/errors';
import { createBreathe } from '@commonplace/kit/slices';
import { type ReadTreeRequest, TreePiece } from '@commonplace/proto/resources/v1/tree_export_service.js';
import type { Node } from '../../domain/node.js';
import type { TransferParts } from '../parts.js';
import { nativePieces } from './native.js';
import { type ArchiveTerms, faultPiece, type Pieces } from './pieces.js';
import { createPlaces, type Places } from './places.js';
import { indexPieces, readablePieces } from './readable.js';

/** Number of resources that one query reads. */
const PAGE = 100;

/**
 * Yields the archive entries of the resources after `request.after`, until `maxBytes` is reached; at least one
 * resource's.
 */
export async function* readTree(parts: TransferParts, request: ReadTreeRequest, terms: ArchiveTerms): Pieces {
  const { workspaceId, maxBytes } = request;
  const places = createPlaces(parts);
  const breathe = createBreathe(terms.context.signal);
  let bytes = 0;
  let after = request.after;
  if (after === '' && terms.format === 'html') {
    yield* indexPieces(parts, { id: workspaceId, name: 'Contents', workspaceId }, 'index.html', terms, places);
  }
  for (;;) {
    // While a large subtree is being moved here, its nodes still name the workspace that they come from.
    const spread = await parts.tree.unsettled(workspaceId);
    const page: Node[] = await parts.tree.nodes.find({
      where: { workspaceId: spread.length === 0 ? workspaceId : { in: spread } },
      limit: PAGE,
      ...(after === '' ? {} : { after: [after] }),
    });
    const nodes = (await parts.tree.resolve(page)).filter((one) => one.workspaceId === workspaceId);
    const present = nodes.filter((node) => node.state === 'active' || isTrashedSince(node, request.since));
    const access = await parts.policy.accessToAll(present, terms.subject);
    for (const [i, node] of present.entries()) {
      const held = access[i];
      if (held === undefined) continue;
      if (node.state === 'trashed') {
        yield faultPiece('trashed', `${named(node)} was moved to the trash after the export was requested.`);
        yield TreePiece.fromPartial({ done: node.id });
        await breathe();
        continue;
      }
      parts.policy.opensAll([{ node, access: held }], terms.subject);
      for await (const piece of piecesOf(parts, node, terms, places)) {
        bytes += piece.fileId === '' ? piece.data.length : node.sizeBytes;
        yield piece;
      }
      yield TreePiece.fromPartial({ done: node.id });
      if (bytes >= maxBytes) return;
      await breathe();
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    after = last.id;
  }
  yield TreePiece.fromPartial({ last: true });
}

/** Returns whether an export that was requested at `since` would contain a node if it had not been trashed meanwhile. */
function isTrashedSince({ trashedAt }: Node, since: string): boolean {
  return since !== '' && trashedAt !== undefined && trashedAt >= since;
}

const named = ({ type, name }: Node): string => `${type} ${JSON.stringify(name)}`;

/** Yields the entries of one resource. A fault in it is reported and does not stop the export. */
async function* piecesOf(parts: TransferParts, node: Node, terms: ArchiveTerms, places: Places): Pieces {
  try {
    yield* terms.format === 'native' ? nativePieces(parts, node, terms) : readablePieces(parts, node, terms, places);
  } catch (error) {
    // The export retries the whole read, with a new token, when a service that it needs is back.
    if (error instanceof AppError && RETRIED.has(error.code)) throw error;
    parts.log.warn('archive.unreadable', { resource_id: node.id, error });
    yield faultPiece('unreadable', `${named(node)} could not be read.`);
  }
  if (node.type === 'file' && terms.include.files && node.file?.status !== 'ready') {
    yield faultPiece('file_not_ready', `${named(node)} has no bytes: ${node.file?.status}.`);
  }
}

/** Codes of errors that are not those of a resource: what serves it is away, the token has expired, or access is lost. */
const RETRIED: ReadonlySet<AppError['code']> = new Set([
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'CANCELLED',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
]);
