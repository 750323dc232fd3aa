import { Disposition, type GetFileRequest } from '@commonplace/proto/files/v1/file_service.js';
import { DOWNLOAD_URL_SECONDS } from '../config.js';
import { blobKey, thumbnailWidth } from '../domain/layout.js';
import type { Grant } from '../domain/tokens.js';
import { contentDisposition, isThumbnailable, mayInline, servedType } from '../media/index.js';
import type { Parts } from '../parts.js';
import type { Version } from '../stores/records.js';

export interface Link {
  readonly url: string;
  readonly expiresAt: string;
  readonly inline: boolean;
  readonly thumbnailUrl: string | undefined;
}

/** Pixels of the small image that every link to an image has. */
const THUMBNAIL_WIDTH = 256;

/** Signs a URL of a version's bytes. What can script is shown in place by the origin for users' bytes alone. */
export async function linkTo(
  parts: Parts,
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

/** The store's own URL, for what needs no headers that a store can't send. */
async function directUrl(
  { bytes }: Parts,
  { blobId, contentType }: Version,
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
  return (await bytes.signGet(blobKey(blobId), seconds, shown))?.url;
}

function gatewayUrl({ settings, tokens }: Parts, grant: Extract<Grant, { kind: 'get' }>): string {
  const base = settings.contentUrl ?? settings.publicUrl;
  return `${base}/blobs/${tokens.sign(grant)}`;
}
