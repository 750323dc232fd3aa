import type { Handlers } from '@commonplace/kit/rpc';
import type { BytesService, Download } from '@commonplace/proto/files/v1/bytes_service.js';
import { type ArchiveRecord, archiveKey } from '../../archives/records.js';
import { requireBytes } from '../../blobs/port.js';
import { blobKey, thumbnailKey } from '../../domain/layout.js';
import type { Grant } from '../../domain/tokens.js';
import { ExpiredLink } from '../../errors.js';
import { contentDisposition, servedType } from '../../media/index.js';
import type { Version } from '../../storage/records.js';
import type { DownloadParts } from '../parts.js';
import { createThumbnails, THUMBNAIL_TYPE, type Thumbnails } from '../thumbnails.js';

/** Maximum bytes that one read returns. */
const READ_BYTES = 1024 * 1024;

/** Creates the handlers of downloads. The holder of a signed URL's token may read the bytes for which it was signed. */
export function createDownloadHandlers(
  parts: DownloadParts,
): Pick<Handlers<BytesService>, 'openDownload' | 'readBytes'> {
  const thumbnails = createThumbnails(parts);
  return {
    async openDownload({ token }) {
      const archive = await openedArchive(parts, token);
      if (archive !== undefined) return archiveDownload(parts, archive);
      const { grant, version } = await opened(parts, token);
      return grant.width === undefined
        ? download(parts, version, grant)
        : thumbnail({ ...parts, thumbnails }, version, { ...grant, width: grant.width });
    },

    async readBytes({ token, offset, length }) {
      const archive = await openedArchive(parts, token);
      const key = archive === undefined ? await keyOf(parts, token) : archiveKey(archive.record.id);
      const chunks: Buffer[] = [];
      for await (const chunk of parts.bytes.read(key, { offset, length: Math.min(length, READ_BYTES) })) {
        chunks.push(chunk);
      }
      return { data: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks) };
    },
  };
}

async function keyOf(parts: DownloadParts, token: string): Promise<string> {
  const { grant, version } = await opened(parts, token);
  const { blobId } = version;
  return grant.width === undefined ? blobKey(blobId) : thumbnailKey(blobId, grant.width);
}

interface OpenedArchive {
  readonly grant: Extract<Grant, { kind: 'archive' }>;
  readonly record: ArchiveRecord;
}

/**
 * Returns the archive that a token opens, or undefined when it opens something else. Throws `expired_link` for an
 * expired archive.
 */
async function openedArchive({ tokens, archives }: DownloadParts, token: string): Promise<OpenedArchive | undefined> {
  const grant = tokens.verify(token);
  if (grant?.kind !== 'archive') return undefined;
  const record = await archives.get(grant.archiveId);
  if (record?.sizeBytes === undefined || record.status === 'expired') throw ExpiredLink();
  return { grant, record };
}

async function archiveDownload({ bytes }: DownloadParts, { grant, record }: OpenedArchive): Promise<Download> {
  await requireBytes(bytes, archiveKey(record.id), record.sizeBytes);
  return {
    contentDisposition: contentDisposition('attachment', grant.name),
    contentType: 'application/zip',
    sizeBytes: record.sizeBytes ?? 0,
    etag: record.sha256 ?? record.id,
    sandboxed: false,
    expiresIn: secondsLeft(grant),
  };
}

type GetGrant = Extract<Grant, { kind: 'get' }>;

async function opened(parts: DownloadParts, token: string): Promise<{ grant: GetGrant; version: Version }> {
  const grant = parts.tokens.verify(token);
  if (grant?.kind !== 'get') throw ExpiredLink();
  const version = await parts.versions.get(grant.versionId);
  if (version === undefined) throw ExpiredLink();
  return { grant, version };
}

async function download({ bytes }: DownloadParts, version: Version, grant: GetGrant): Promise<Download> {
  await requireBytes(bytes, blobKey(version.blobId), version.sizeBytes);
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

async function thumbnail(
  { bytes, thumbnails }: Pick<DownloadParts, 'bytes'> & { readonly thumbnails: Thumbnails },
  version: Version,
  grant: GetGrant & { readonly width: number },
): Promise<Download> {
  const { width } = grant;
  if (!(await thumbnails.ensure(version, width))) throw ExpiredLink();
  return {
    contentDisposition: contentDisposition('inline', 'thumbnail.webp'),
    contentType: THUMBNAIL_TYPE,
    sizeBytes: await requireBytes(bytes, thumbnailKey(version.blobId, width)),
    etag: `${version.sha256}-${width}`,
    sandboxed: false,
    expiresIn: secondsLeft(grant),
  };
}

function secondsLeft({ expires }: Pick<GetGrant, 'expires'>): number {
  return Math.max(0, expires - Math.floor(Date.now() / 1000));
}
