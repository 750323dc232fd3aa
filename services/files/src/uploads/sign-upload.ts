import type { Upload as UploadMessage, UploadPart } from '@commonplace/proto/files/v1/file.js';
import { UPLOAD_URL_SECONDS } from '../config.js';
import { blobKey, partAt, uploadKey } from '../domain/layout.js';
import type { Upload } from '../storage/records.js';
import type { UploadParts } from './parts.js';

/** Signs the URLs that an upload's bytes are put to: all of them, or those of the parts in `numbers`. */
export async function signUpload(
  parts: UploadParts,
  upload: Upload,
  numbers?: readonly number[],
): Promise<UploadMessage> {
  const expires = Math.floor(Date.now() / 1000) + UPLOAD_URL_SECONDS;
  const base = { method: 'PUT', expiresAt: new Date(expires * 1000).toISOString() };
  if (upload.how === 'single') {
    const { sizeBytes, sha256 } = upload;
    // A bucket would accept any number of bytes, so uploads without an announced size go through this service's meter.
    const isMetered = sizeBytes === undefined && parts.settings.storageQuotaBytes !== undefined;
    const direct = isMetered
      ? undefined
      : await parts.bytes.signPut(uploadKey(upload.id), UPLOAD_URL_SECONDS, { sizeBytes, sha256 });
    const url = direct?.url ?? gatewayUrl(parts, upload.id, undefined, expires);
    return { ...base, url, headers: json(direct?.headers ?? {}), partSize: undefined, parts: undefined };
  }
  const { partBytes = 0, partCount = 0 } = upload;
  const chosen = numbers ?? Array.from({ length: partCount }, (_, i) => i + 1);
  const items = await Promise.all(chosen.map((number) => signPart(parts, upload, number, expires)));
  return { ...base, url: undefined, headers: json({}), partSize: partBytes, parts: { items } };
}

async function signPart(parts: UploadParts, upload: Upload, number: number, expires: number): Promise<UploadPart> {
  const { id, blobId, partsId = '', sizeBytes = 0, partBytes = 0, partCount = 0 } = upload;
  const direct = await parts.bytes.signPart(blobKey(blobId), partsId, number, UPLOAD_URL_SECONDS);
  const place = partAt(sizeBytes, { partBytes, partCount }, number) ?? { offset: 0, sizeBytes: 0 };
  return { number, url: direct?.url ?? gatewayUrl(parts, id, number, expires), ...place };
}

function gatewayUrl(parts: UploadParts, uploadId: string, part: number | undefined, expires: number): string {
  const token = parts.tokens.sign({ kind: 'put', uploadId, ...(part === undefined ? {} : { part }), expires });
  return `${parts.settings.publicUrl}/blobs/${token}`;
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
