import { invalidField } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Node } from '../domain/node.js';
import type { PublicationParts } from './parts.js';
import type { PublicationRecord } from './records.js';

/** Raster image types, which a browser shows without running any of their content. */
const RASTER: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

export function isRaster({ file }: Pick<Node, 'file'>): boolean {
  return file?.status === 'ready' && RASTER.has(file.contentType);
}

/**
 * Checks that a publication's image is a file of the same workspace that the publisher may see. Throws `invalid_value`.
 */
export async function requireImage(
  parts: PublicationParts,
  { workspaceId, boundary }: { readonly workspaceId: string; readonly boundary: string },
  fileId: string | undefined,
  context: CallContext,
): Promise<void> {
  if (fileId === undefined) return;
  const node = await parts.tree.get(fileId);
  const access = node && (await parts.policy.accessTo(node, await parts.policy.subject(context)));
  const fits = node !== undefined && access !== undefined && isImageOf(node, workspaceId, boundary);
  if (!fits)
    throw invalidField('image_file_id', 'invalid_value', 'must be an image of the workspace that you may see.');
}

/** Returns whether readers may see a node as a publication's image now. */
function isImageOf(node: Node, workspaceId: string, boundary: string): boolean {
  const open = node.boundary === workspaceId || node.boundary === boundary;
  return node.state === 'active' && node.workspaceId === workspaceId && open && isRaster(node);
}

/** Returns the image of a publication if readers may see it. */
export async function imageOf(
  { tree }: Pick<PublicationParts, 'tree'>,
  { imageFileId, boundary }: Pick<PublicationRecord, 'imageFileId' | 'boundary'>,
  workspaceId: string,
): Promise<Node | undefined> {
  const node = imageFileId === undefined ? undefined : await tree.get(imageFileId);
  return node !== undefined && isImageOf(node, workspaceId, boundary) ? node : undefined;
}
