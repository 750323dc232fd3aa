import { buffer } from 'node:stream/consumers';
import { NotFound } from '@commonplace/kit/errors';
import { derivedId } from '@commonplace/kit/id';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type {
  CopyFileRequest,
  CopyFileResponse,
  FileTextService,
} from '@commonplace/proto/files/v1/file_text_service.js';
import { blobKey } from '../../domain/layout.js';
import { beginAttempt } from '../../storage/attempt.js';
import { reserveBytes } from '../../storage/quota.js';
import { fileMessage } from '../../storage/wire.js';
import { createLocated } from '../located.js';
import type { TextParts } from '../parts.js';

const READ_BYTES = 1024 * 1024;

/** Serves the calls of other services about files. */
export function createFileTextHandlers(parts: TextParts): Handlers<FileTextService> {
  const { files, versions, texts } = parts;
  const pagesOf = createLocated(parts);
  return {
    async getTexts({ resourceIds }) {
      const found = await files.getMany(resourceIds);
      const ids = found.flatMap(({ versionId }) => (versionId === undefined ? [] : [versionId]));
      const [present, read] = await Promise.all([versions.getMany(ids), texts.getMany(ids)]);
      const textOf = new Map(read.map(({ id, text }) => [id, text]));
      return {
        texts: present.map(({ id, fileId, text }) => ({
          resourceId: fileId,
          text: textOf.get(id) ?? '',
          textExtraction: text,
        })),
      };
    },

    async locatePages({ places }) {
      return { pages: await pagesOf(places) };
    },

    copyFile: (request, context) => copyFile(parts, request, context),

    async readFile({ resourceId, offset, length }) {
      const file = await files.get(resourceId);
      const version = file?.versionId === undefined ? undefined : await versions.get(file.versionId);
      if (file === undefined || version === undefined) throw NotFound();
      const range = { offset, length: Math.min(length, READ_BYTES) };
      const data = await buffer(parts.bytes.read(blobKey(version.blobId), range));
      return { data, file: fileMessage(file, version) };
    },
  };
}

/** Milliseconds after which a copy without a node is deleted. */
const COPY_MS = 600_000;

/** Creates a file with the bytes of another. The bytes are shared by a reference count, not copied. */
async function copyFile(parts: TextParts, request: CopyFileRequest, context: CallContext): Promise<CopyFileResponse> {
  const { fromResourceId, toResourceId, tenant, workspaceId } = request;
  const { work } = context;
  const from = await work.get(parts.files, fromResourceId);
  const version = from?.versionId === undefined ? undefined : await work.get(parts.versions, from.versionId);
  const blob = version === undefined ? undefined : await work.get(parts.blobs, version.blobId);
  if (from === undefined || version === undefined || blob === undefined || blob.uses === 0) {
    return { copied: false, contentType: '', sizeBytes: 0, revision: '' };
  }
  const made = await madeCopy(parts, toResourceId, work);
  if (made !== undefined) return made;
  const { contentType, sizeBytes } = version;
  const revision = derivedId(`copy:${version.id}:${toResourceId}`);
  const now = new Date().toISOString();
  const place = { tenant, workspaceId, createdAt: now };
  work.replace(parts.blobs, blob, { ...blob, uses: blob.uses + 1 });
  work.insert(parts.versions, {
    ...version,
    ...place,
    id: revision,
    fileId: toResourceId,
    number: 1,
    createdBy: context.actor,
  });
  const { error: _, ...facts } = from;
  work.insert(parts.files, {
    ...facts,
    ...place,
    id: toResourceId,
    versionId: revision,
    revision,
    versions: 1,
    updatedAt: now,
  });
  await reserveBytes(parts, work, { tenant, account: 'files', bytes: sizeBytes });
  const text = await work.get(parts.texts, version.id);
  if (text !== undefined) work.insert(parts.texts, { ...text, id: revision, tenant });
  // The caller creates its node; without one the sweeper deletes the copy.
  await beginAttempt(parts, { fileId: toResourceId, revision, blobId: version.blobId }, COPY_MS);
  return { copied: true, contentType, sizeBytes, revision };
}

/** Returns what an earlier call has copied, which may be an earlier version than the source has now. */
async function madeCopy(parts: TextParts, id: string, work: UnitOfWork): Promise<CopyFileResponse | undefined> {
  const file = await work.get(parts.files, id);
  const version = file?.versionId === undefined ? undefined : await work.get(parts.versions, file.versionId);
  if (version === undefined) return undefined;
  const { id: revision, contentType, sizeBytes } = version;
  return { copied: true, contentType, sizeBytes, revision };
}
