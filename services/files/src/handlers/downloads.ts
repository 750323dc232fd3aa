import type { Handlers } from '@commonplace/kit/rpc';
import type { BytesService, Download } from '@commonplace/proto/files/v1/bytes_service.js';
import type { ArchiveParts } from '../archives/parts.js';
import { type ArchiveRecord, archiveKey } from '../archives/records.js';
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
export function createDownloadHandlers(
  parts: Parts & Pick<ArchiveParts, 'archives'>,
): Pick<Handlers<BytesService>, 'openDownload' | 'readBytes'> {
  return {
    async openDownload({ token }) {
      const archive = await openedArchive(parts, token);
      if (archive !== undefined) return archiveDownload(archive);
      const { grant, version } = await opened(parts, token);
      return grant.width === undefined ? download(version, grant) : thumbnail(parts, version, grant.width, grant);
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

async function keyOf(parts: Parts, token: string): Promise<string> {
  const { grant, version } = await opened(parts, token);
  const { blobId } = version;
  return grant.width === undefined ? blobKey(blobId) : thumbnailKey(blobId, grant.width);
}

interface OpenedArchive {
  readonly grant: Extract<Grant, { kind: 'archive' }>;
  readonly record: ArchiveRecord;
}

/** An archive that a token opens; undefined where it opens something else. */
async function openedArchive(
  { tokens, archives }: Parts & Pick<ArchiveParts, 'archives'>,
  token: string,
): Promise<OpenedArchive | undefined> {
  const grant = tokens.verify(token);
  if (grant?.kind !== 'archive') return undefined;
  const record = await archives.get(grant.archiveId);
  if (record?.sizeBytes === undefined || record.status === 'expired') throw ExpiredLink();
  return { grant, record };
}

function archiveDownload({ grant, record }: OpenedArchive): Download {
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

function secondsLeft({ expires }: Pick<GetGrant, 'expires'>): number {
  return Math.max(0, expires - Math.floor(Date.now() / 1000));
}
