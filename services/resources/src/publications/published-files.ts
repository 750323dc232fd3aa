import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type {
  OpenPublishedFileRequest,
  OpenPublishedFileResponse,
  ReadPublishedFileRequest,
  ReadPublishedFileResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';
import { tagOf } from './addresses.js';
import { imageOf, isRaster } from './images.js';
import { type Opened, openAddress } from './open.js';
import { closedOutcome } from './read-page.js';

/** Tells of a file that readers of a publication may have. */
export async function openFile(
  parts: Parts,
  { address, fileId }: OpenPublishedFileRequest,
  context: CallContext,
): Promise<OpenPublishedFileResponse> {
  const opening = await openAddress(parts, address, context);
  const { revision } = opening;
  if (opening.kind !== 'open') return { ...NONE, revision, ...closedOutcome(opening) };
  const node = await givenFile(parts, opening.opened, fileId);
  if (node?.file === undefined) return { ...NONE, revision, missing: { gone: false, refused: false } };
  const { contentType, sizeBytes } = node.file;
  const inline = isRaster(node);
  return { ...NONE, revision, file: { name: node.name, contentType, sizeBytes, etag: tagOf(node.file), inline } };
}

const NONE = { file: undefined, passwordRequired: undefined, missing: undefined };

/** Bytes of such a file. */
export async function readFile(
  parts: Parts,
  { address, fileId, offset, length }: ReadPublishedFileRequest,
  context: CallContext,
): Promise<ReadPublishedFileResponse> {
  const opening = await openAddress(parts, address, context);
  const node = opening.kind === 'open' ? await givenFile(parts, opening.opened, fileId) : undefined;
  if (node === undefined) return { data: Buffer.alloc(0), etag: '' };
  try {
    const { data } = await parts.peers.fileTexts.readFile({ resourceId: node.id, offset, length }, context.onward);
    return { data, etag: tagOf(node.file) };
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return { data: Buffer.alloc(0), etag: '' };
    throw error;
  }
}

/** Images are part of the pages that show them; other files are given away where the publisher allows it. */
async function givenFile(parts: Parts, { outline, publication, terms }: Opened, fileId: string) {
  const inside = outline.byId.get(fileId);
  const node: Node | undefined = inside?.node ?? (await faceImage(parts, fileId, publication, terms.workspaceId));
  if (node?.type !== 'file' || node.file?.status !== 'ready') return undefined;
  return publication.allowDownload || isRaster(node) ? node : undefined;
}

async function faceImage(parts: Parts, fileId: string, publication: Opened['publication'], workspaceId: string) {
  return publication.imageFileId === fileId ? imageOf(parts, publication, workspaceId) : undefined;
}
