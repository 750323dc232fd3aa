import { Disposition, type GetFileRequest } from '@commonplace/proto/files/v1/file_service.js';
import { DOWNLOAD_URL_SECONDS } from '../config.js';
import { blobKey, thumbnailWidth } from '../domain/layout.js';
import type { Grant } from '../domain/tokens.js';
import { contentDisposition, isThumbnailable, mayInline, servedType } from '../media/index.js';
import type { Version } from '../storage/records.js';
import type { DownloadParts } from './parts.js';

type LinkParts = Pick<DownloadParts, 'settings' | 'tokens' | 'bytes'>;

interface Link {
  readonly url: string;
  readonly expiresAt: string;
  readonly inline: boolean;
  readonly thumbnailUrl: string | undefined;
}

/** Width in pixels of the thumbnail that each link to an image includes. */
const THUMBNAIL_WIDTH = 256;

/**
 * Signs a URL of a version's bytes. Content that can run scripts is shown inline only from the origin that is reserved
 * for users' bytes.
 */
export async function linkTo(
  parts: LinkParts,
  version: Version,
  name: string,
  { disposition, expiresIn = DOWNLOAD_URL_SECONDS, thumbnail }: GetFileRequest,
): Promise<Link> {
  const { contentUrl } = parts.settings;
  const expires = Math.floor(Date.now() / 1000) + expiresIn;
  const { contentType } = version;
  const sandboxed = contentUrl !== undefined && !mayInline(contentType);
  const inline = disposition === Disposition.INLINE && (mayInline(contentType) || sandboxed);
  const grant = { kind: 'get', versionId: version.id, name, inline, sandboxed: inline && sandboxed, expires } as const;
  const width = isThumbnailable(contentType) ? thumbnailWidth(thumbnail ?? THUMBNAIL_WIDTH) : undefined;
  return {
    url: (await directUrl(parts, version, name, expiresIn, grant)) ?? gatewayUrl(parts, grant),
    expiresAt: new Date(expires * 1000).toISOString(),
    inline,
    thumbnailUrl:
      width === undefined
        ? undefined
        : gatewayUrl(parts, {
            kind: 'get',
            versionId: version.id,
            name,
            inline: true,
            sandboxed: false,
            width,
            expires,
          }),
  };
}

/**
 * Returns the blob store's own signed URL when the response needs no headers that the store can't send. Returns
 * undefined for missing bytes: the gateway's URL answers with an error that clients know, and counts it.
 */
async function directUrl(
  { bytes }: LinkParts,
  { blobId, contentType, sizeBytes }: Version,
  name: string,
  seconds: number,
  { inline, sandboxed }: { readonly inline: boolean; readonly sandboxed: boolean },
): Promise<string | undefined> {
  if (sandboxed) return undefined;
  const disposition = inline ? 'inline' : 'attachment';
  const shown = {
    contentType: servedType(contentType, disposition),
    contentDisposition: contentDisposition(disposition, name),
  };
  const signed = await bytes.signGet(blobKey(blobId), seconds, shown);
  return signed !== undefined && (await bytes.size(blobKey(blobId))) === sizeBytes ? signed.url : undefined;
}

function gatewayUrl({ settings, tokens }: LinkParts, grant: Extract<Grant, { kind: 'get' }>): string {
  const base = settings.contentUrl ?? settings.publicUrl;
  return `${base}/blobs/${tokens.sign(grant)}`;
}
