import type { Handlers } from '@commonplace/kit/rpc';
import type { BytesService, Download } from '@commonplace/proto/files/v1/bytes_service.js';
import { blobKey, thumbnailKey } from '../domain/layout.js';
import type { Grant } from '../domain/tokens.js';
import { ExpiredLink } from '../errors.js';
import { ensureThumbnail, THUMBNAIL_TYPE } from '../jobs/thumbnails.js';
import { contentDisposition, servedType } from '../media/index.js';
import type { Parts } from '../parts.js';
import type { Version } from '../stores/records.js';

/** Most bytes of one read. */
const READ_BYTES = 1024 * 1024;

/** The way of bytes out: whoever holds the token of a URL may read what it was signed for. */
export function createDownloadHandlers(parts: Parts): Pick<Handlers<BytesService>, 'openDownload' | 'readBytes'> {
  return {
    async openDownload({ token }) {
      const { grant, version } = await opened(parts, token);
      return grant.width === undefined ? download(version, grant) : thumbnail(parts, version, grant.width, grant);
    },

    async readBytes({ token, offset, length }) {
      const { grant, version } = await opened(parts, token);
      const { blobId } = version;
      const key = grant.width === undefined ? blobKey(blobId) : thumbnailKey(blobId, grant.width);
      const chunks: Buffer[] = [];
      for await (const chunk of parts.bytes.read(key, { offset, length: Math.min(length, READ_BYTES) })) {
        chunks.push(chunk);
      }
      return { data: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks) };
    },
  };
}

type GetGrant = Extract<Grant, { kind: 'get' }>;

async function opened(parts: Parts, token: string): Promise<{ grant: GetGrant; version: Version }> {
  const grant = parts.tokens.verify(token);
  if (grant?.kind !== 'get') throw ExpiredLink();
  const version = await parts.versions.get(grant.versionId);
  if (version === undefined) throw ExpiredLink();
  return { grant, version };
}

function download(version: Version, grant: GetGrant): Download {
  const disposition = grant.inline ? 'inline' : 'attachment';
  const { contentType } = version;
  return {
    contentDisposition: contentDisposition(disposition, grant.name),
    contentType: grant.sandboxed ? contentType : servedType(contentType, disposition),
    sizeBytes: version.sizeBytes,
    etag: version.sha256,
    sandboxed: grant.sandboxed,
    expiresIn: secondsLeft(grant),
  };
}

async function thumbnail(parts: Parts, version: Version, width: number, grant: GetGrant): Promise<Download> {
  if (!(await ensureThumbnail(parts, version, width))) throw ExpiredLink();
  return {
    contentDisposition: contentDisposition('inline', 'thumbnail.webp'),
    contentType: THUMBNAIL_TYPE,
    sizeBytes: (await parts.bytes.size(thumbnailKey(version.blobId, width))) ?? 0,
    etag: `${version.sha256}-${width}`,
    sandboxed: false,
    expiresIn: secondsLeft(grant),
  };
}

function secondsLeft({ expires }: GetGrant): number {
  return Math.max(0, expires - Math.floor(Date.now() / 1000));
}
