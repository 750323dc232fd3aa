import { AppError } from '@commonplace/kit/errors';
import { fingerprint } from '@commonplace/kit/id';
import { CreateFileRequest } from '@commonplace/proto/files/v1/file_service.js';
import type { McpImage } from '../../mcp/result.js';
import type { Parts } from '../../parts.js';
import { actOnce } from './acts.js';
import { isWider, placeOf } from './targets.js';
import { InvalidArguments, type ToolContext } from './tool.js';

/** The result of storing the images of a call. */
interface StoredImages {
  /** One line for each image, for the model. */
  readonly lines: readonly string[];
  readonly resourceIds: readonly string[];
}

/**
 * Stores the images of a result as files at the root of the run's workspace, each once, without asking for approval. A
 * run that may not create files, or whose sources have fewer readers than the workspace, stores none. The files count
 * as untrusted, since the run is tainted by the result.
 */
export async function storeImages(
  parts: Pick<Parts, 'files' | 'index'>,
  context: ToolContext,
  images: readonly McpImage[],
): Promise<StoredImages> {
  const lines: string[] = [];
  const resourceIds: string[] = [];
  for (const [at, image] of images.entries()) {
    const which = `Image ${at + 1} (${image.mimeType})`;
    try {
      const id = await storeImage(parts, context, image);
      resourceIds.push(id);
      lines.push(`${which} is stored as the file “${image.name}” with the id ${id}.`);
    } catch (error) {
      context.signal.throwIfAborted();
      // The call itself has taken effect, so an error of an image must not cause it to be repeated.
      if (!(error instanceof AppError || error instanceof InvalidArguments)) throw error;
      lines.push(`${which} is not stored: ${error.message}`);
    }
  }
  return { lines, resourceIds };
}

async function storeImage(
  parts: Pick<Parts, 'files' | 'index'>,
  context: ToolContext,
  { name, mimeType: contentType, data: contentBase64 }: McpImage,
): Promise<string> {
  const { workspaceId } = context.run;
  if (workspaceId === undefined) throw new InvalidArguments('The run has no workspace.');
  if (await isWider(parts, await placeOf(parts, undefined, context), context)) {
    throw new InvalidArguments('More people can read the workspace than what the run has read.');
  }
  // A repeated call may return another image, which is stored as another file.
  const hash = fingerprint(name, contentBase64);
  const once = { ...context, toolCallId: `${context.toolCallId}:${hash}` };
  const request = CreateFileRequest.fromPartial({ name, workspaceId, contentType, contentBase64 });
  const { resource } = await actOnce(once, 'file:write', { hash }, (options) =>
    parts.files.createFile(request, options),
  );
  return resource?.id ?? '';
}
