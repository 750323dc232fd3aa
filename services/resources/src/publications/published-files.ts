import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type {
  OpenPublishedFileRequest,
  OpenPublishedFileResponse,
  ReaderAddress,
  ReadPublishedFileRequest,
  ReadPublishedFileResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import type { Node } from '../domain/node.js';
import { tagOf } from './addresses.js';
import { imageOf, isRaster } from './images.js';
import { openAddress } from './open.js';
import type { OpenedPublication, Opening } from './opening.js';
import type { PublicationParts } from './parts.js';
import { opensBy } from './proofs.js';
import { closedOutcome } from './read-page.js';

/** Returns the metadata of a file that readers of a publication may download. */
export async function openFile(
  parts: PublicationParts,
  { address, fileId }: OpenPublishedFileRequest,
  context: CallContext,
): Promise<OpenPublishedFileResponse> {
  const opening = await openAddress(parts, address, context);
  const { revision } = opening;
  if (opening.kind !== 'open' && !isPassed(opening, address, fileId)) {
    return { ...NONE, revision, ...closedOutcome(opening) };
  }
  const file = await readerFile(parts, opening.opened, fileId);
  if (file?.file === undefined) return { ...NONE, revision, missing: { gone: false, refused: false } };
  const { contentType, sizeBytes } = file.file;
  const inline = isRaster(file);
  return { ...NONE, revision, file: { name: file.name, contentType, sizeBytes, etag: tagOf(file.file), inline } };
}

const NONE = { file: undefined, passwordRequired: undefined, missing: undefined };

/** Returns bytes of such a file. */
export async function readFile(
  parts: PublicationParts,
  { address, fileId, offset, length }: ReadPublishedFileRequest,
  context: CallContext,
): Promise<ReadPublishedFileResponse> {
  const opening = await openAddress(parts, address, context);
  const isOpen = opening.kind === 'open' || isPassed(opening, address, fileId);
  const file = isOpen ? await readerFile(parts, opening.opened, fileId) : undefined;
  if (file === undefined) return { data: Buffer.alloc(0), etag: '' };
  try {
    const request = { resourceId: file.bytesId, offset, length };
    const { data } = await parts.peers.fileTexts.readFile(request, context.onward);
    return { data, etag: tagOf(file.file) };
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return { data: Buffer.alloc(0), etag: '' };
    throw error;
  }
}

/**
 * Returns whether a file's pass is valid: content in a frame is loaded without a cookie, and its page has a pass for
 * each file.
 */
function isPassed(
  opening: Exclude<Opening, { kind: 'open' }>,
  address: ReaderAddress | undefined,
  fileId: string,
): opening is Extract<Opening, { kind: 'password' }> {
  return (
    opening.kind === 'password' && opensBy(opening.opened.publication, `file ${fileId}`, address?.pass, Date.now())
  );
}

/** A file, and the id under which the files service stores the bytes that readers get. */
interface ReaderFile extends Pick<Node, 'name' | 'file'> {
  readonly bytesId: string;
}

/**
 * Returns a file that readers may get. Images always count as part of their pages; other files need the publisher's
 * permission.
 */
async function readerFile(
  parts: PublicationParts,
  opened: OpenedPublication,
  fileId: string,
): Promise<ReaderFile | undefined> {
  const { outline, publication, terms } = opened;
  const inside = outline.byId.get(fileId);
  const isFace = inside === undefined && publication.imageFileId === fileId;
  const found = isFace ? await imageOf(parts, publication, terms.workspaceId) : inside;
  if (found?.type !== 'file' || found.file?.status !== 'ready') return undefined;
  if (!publication.allowDownload && !isRaster(found)) return undefined;
  return { name: found.name, file: found.file, bytesId: inside?.keptId ?? found.id };
}
