import { AppError } from '@commonplace/kit/errors';
import { type ReadTreeRequest, TreePiece } from '@commonplace/proto/resources/v1/tree_export_service.js';
import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';
import { nativePieces } from './native.js';
import { type ArchiveTerms, faultPiece, type Pieces } from './pieces.js';
import { createPlaces, type Places } from './places.js';
import { indexPieces, readablePieces } from './readable.js';

/** Resources that are looked at together. */
const PAGE = 100;

/** The entries of an archive from behind a resource on, as many as there is room for; at least one resource's. */
export async function* readTree(parts: Parts, request: ReadTreeRequest, terms: ArchiveTerms): Pieces {
  const { workspaceId, maxBytes } = request;
  const places = createPlaces(parts);
  let bytes = 0;
  let after = request.after;
  if (after === '' && terms.format === 'html') {
    yield* indexPieces(parts, { id: workspaceId, name: 'Contents', workspaceId }, 'index.html', places);
  }
  for (;;) {
    const page: Node[] = await parts.tree.nodes.find({
      where: { workspaceId },
      limit: PAGE,
      ...(after === '' ? {} : { after: [after] }),
    });
    const nodes = (await parts.tree.resolve(page)).filter((one) => one.workspaceId === workspaceId);
    const live = nodes.filter(({ state }) => state === 'active');
    const access = await parts.policy.accessToAll(live, terms.standing);
    for (const [i, node] of live.entries()) {
      if (access[i] === undefined) continue;
      for await (const piece of piecesOf(parts, node, terms, places)) {
        bytes += piece.fileId === '' ? piece.data.length : node.sizeBytes;
        yield piece;
      }
      yield TreePiece.fromPartial({ done: node.id });
      if (bytes >= maxBytes) return;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    after = last.id;
  }
  yield TreePiece.fromPartial({ last: true });
}

/** One resource. What is wrong with it is told, and stops nobody. */
async function* piecesOf(parts: Parts, node: Node, terms: ArchiveTerms, places: Places): Pieces {
  try {
    yield* terms.format === 'native' ? nativePieces(parts, node, terms) : readablePieces(parts, node, terms, places);
  } catch (error) {
    // Who is away now is asked again with the whole piece.
    if (error instanceof AppError && AWAY.has(error.code)) throw error;
    parts.log.warn('archive.unreadable', { resource_id: node.id, error });
    yield faultPiece('unreadable', `${node.type} ${JSON.stringify(node.name)} could not be read.`);
  }
  if (node.type === 'file' && terms.include.files && node.file?.status !== 'ready') {
    yield faultPiece('file_not_ready', `file ${JSON.stringify(node.name)} has no bytes: ${node.file?.status}.`);
  }
}

const AWAY: ReadonlySet<AppError['code']> = new Set([
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'CANCELLED',
  'PERMISSION_DENIED',
]);
