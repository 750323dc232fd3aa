import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { gather } from './gather.js';
import { measure, measureAll } from './measure.js';
import {
  BlobMissing,
  type BlobStore,
  type ExpectedBytes,
  requireExpected,
  requireKey,
  type SignedUrl,
  type StoredBytes,
} from './port.js';
import { openS3Client, storeError } from './s3-client.js';
import { readInstallation } from './s3-installation.js';
import { listParts, unfinishedUploads } from './s3-parts.js';
import { parseS3Url } from './s3-url.js';

/** Default of `partBytes`. */
const PART_BYTES = 8 * 1024 * 1024;

interface S3Options {
  /** URL in the format of `parseS3Url`. */
  readonly url: string;
  /** URL by which clients reach the same bucket; defaults to `url`. */
  readonly publicUrl?: string | undefined;
  /** Bytes of each part that this process uploads itself. */
  readonly partBytes?: number;
}

/** Stores blobs as objects of an S3-compatible bucket. Blob keys are object keys below the URL's prefix. */
export function openS3Store({ url, publicUrl, partBytes = PART_BYTES }: S3Options): BlobStore {
  const { bucket, prefix, ...place } = parseS3Url(url);
  const client = openS3Client(place);
  const signer =
    publicUrl === undefined ? client : openS3Client({ credentials: place.credentials, ...parseS3Url(publicUrl) });
  const at = (key: string) => ({ Bucket: bucket, Key: prefix + requireKey(key) });

  async function* read(key: string, more: { Range?: string; IfMatch?: string } = {}): AsyncIterable<Buffer> {
    const { Body } = await client.send(new GetObjectCommand({ ...at(key), ...more })).catch((error) => {
      if (nameOf(error) === 'InvalidRange') return { Body: undefined };
      throw isMissing(error) ? new BlobMissing(key) : error;
    });
    if (Body !== undefined) yield* received(Body as unknown as AsyncIterable<Buffer>);
  }

  const head = (key: string) =>
    client.send(new HeadObjectCommand(at(key))).catch((error) => {
      if (!isMissing(error)) throw error;
      return undefined;
    });

  async function putParts(key: string, chunks: AsyncIterator<Buffer>, first: Buffer): Promise<void> {
    const upload = await store.beginParts(key);
    try {
      let number = 0;
      for (let next: IteratorResult<Buffer> = { value: first, done: false }; !next.done; next = await chunks.next()) {
        number++;
        const sent = new UploadPartCommand({ ...at(key), UploadId: upload, PartNumber: number, Body: next.value });
        await client.send(sent);
      }
    } catch (error) {
      await store.abortParts(key, upload);
      throw error;
    }
    await complete(key, upload);
  }

  async function complete(key: string, upload: string): Promise<void> {
    const parts = await listParts(client, { ...at(key), UploadId: upload });
    const MultipartUpload = { Parts: parts.map(({ PartNumber, ETag }) => ({ PartNumber, ETag })) };
    await client.send(new CompleteMultipartUploadCommand({ ...at(key), UploadId: upload, MultipartUpload }));
  }

  const store: BlobStore = {
    exclusive: false,
    installationId: () => readInstallation(client, { bucket, prefix }),
    async put(key, source, expected) {
      const { bytes, stored } = measure(source);
      const chunks = gather(bytes, partBytes)[Symbol.asyncIterator]();
      const { value: first = Buffer.alloc(0) } = await chunks.next();
      if (first.length < partBytes) {
        requireExpected(stored(), expected);
        const ChecksumSHA256 = Buffer.from(stored().sha256, 'hex').toString('base64');
        await client.send(new PutObjectCommand({ ...at(key), Body: first, ChecksumSHA256 }));
        return stored();
      }
      await putParts(
        key,
        requiring(chunks, () => requireExpected(stored(), expected)),
        first,
      );
      return stored();
    },
    size: async (key) => (await head(key))?.ContentLength,
    read: (key, range) =>
      range === undefined
        ? read(key)
        : read(key, { Range: `bytes=${range.offset}-${range.offset + range.length - 1}` }),
    async delete(key) {
      await client.send(new DeleteObjectCommand(at(key)));
    },
    async *list(below) {
      for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix + below })) {
        for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
          yield { key: Key.slice(prefix.length), sizeBytes: Size, storedAt: LastModified?.getTime() ?? Date.now() };
        }
      }
    },

    async beginParts(key) {
      const { UploadId = '' } = await client.send(new CreateMultipartUploadCommand(at(key)));
      return UploadId;
    },
    async putPart(key, upload, number, source, expected) {
      const { bytes, stored } = measure(source);
      const chunks: Uint8Array[] = [];
      for await (const chunk of bytes) chunks.push(chunk);
      requireExpected(stored(), expected);
      const Body = Buffer.concat(chunks);
      await client.send(new UploadPartCommand({ ...at(key), UploadId: upload, PartNumber: number, Body }));
      return stored();
    },
    async parts(key, upload) {
      const found = await listParts(client, { ...at(key), UploadId: upload }).catch((error) => {
        if (nameOf(error) !== 'NoSuchUpload') throw error;
        return [];
      });
      return found.map(({ PartNumber = 0, Size = 0 }) => ({ number: PartNumber, sizeBytes: Size }));
    },
    async completeParts(key, upload, expected) {
      // A multipart upload that was completed before a crash is a blob already, and its parts are gone.
      await complete(key, upload).catch((error) => {
        if (nameOf(error) !== 'NoSuchUpload') throw error;
      });
      const stored = await measureAll(read(key));
      try {
        requireExpected(stored, expected);
      } catch (error) {
        await store.delete(key);
        throw error;
      }
      return stored;
    },
    async abortParts(key, upload) {
      await client.send(new AbortMultipartUploadCommand({ ...at(key), UploadId: upload })).catch((error) => {
        if (nameOf(error) !== 'NoSuchUpload') throw error;
      });
    },
    unfinished: (below) => unfinishedUploads(client, bucket, prefix, below),
    async move(from, to, expected) {
      const ETag = (await head(from))?.ETag;
      if (ETag === undefined) {
        if ((await store.size(to)) === undefined) throw new BlobMissing(from);
        return required(await measureAll(read(to)), expected);
      }
      // A concurrent put changes the ETag, and the copy is refused.
      const stored = await measureAll(read(from, { IfMatch: ETag }));
      requireExpected(stored, expected);
      const source = `${bucket}/${prefix}${from}`;
      await client.send(new CopyObjectCommand({ ...at(to), CopySource: source, CopySourceIfMatch: ETag }));
      await store.delete(from);
      return stored;
    },

    async signGet(key, seconds, { contentType, contentDisposition }) {
      const shown = { ResponseContentType: contentType, ResponseContentDisposition: contentDisposition };
      const url = await getSignedUrl(signer, new GetObjectCommand({ ...at(key), ...shown }), { expiresIn: seconds });
      return { url, headers: {} };
    },
    signPut: (key, seconds, expected) => signPut(signer, at(key), seconds, expected),
    async signPart(key, upload, number, seconds) {
      const command = new UploadPartCommand({ ...at(key), UploadId: upload, PartNumber: number });
      return { url: await getSignedUrl(signer, command, { expiresIn: seconds }), headers: {} };
    },
    path: () => undefined,
    close: async () => {
      client.destroy();
      if (signer !== client) signer.destroy();
    },
  };
  return store;
}

/** Yields the bytes of an answer; a connection that breaks in the middle means that the bucket is unavailable. */
async function* received(body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  try {
    yield* body;
  } catch (error) {
    throw storeError(error);
  }
}

function required(stored: StoredBytes, expected?: ExpectedBytes): StoredBytes {
  requireExpected(stored, expected);
  return stored;
}

const CHECKSUM = 'x-amz-checksum-sha256';

/** Signs a PUT together with the size and checksum that are known, so that the store itself refuses others. */
async function signPut(
  client: S3Client,
  place: { Bucket: string; Key: string },
  seconds: number,
  { sha256, sizeBytes }: ExpectedBytes = {},
): Promise<SignedUrl> {
  const ChecksumSHA256 = sha256 === undefined ? undefined : Buffer.from(sha256, 'hex').toString('base64');
  const command = new PutObjectCommand({ ...place, ChecksumSHA256, ContentLength: sizeBytes });
  const url = await getSignedUrl(client, command, {
    expiresIn: seconds,
    unhoistableHeaders: new Set([CHECKSUM]),
    signableHeaders: new Set(['host', ...(sizeBytes === undefined ? [] : ['content-length'])]),
  });
  return { url, headers: ChecksumSHA256 === undefined ? {} : { [CHECKSUM]: ChecksumSHA256 } };
}

/** Yields what an iterator yields, and calls `ask` after its end. */
async function* requiring(chunks: AsyncIterator<Buffer>, ask: () => void): AsyncGenerator<Buffer> {
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
  ask();
}

function nameOf(error: unknown): string {
  return (error as { name?: string }).name ?? '';
}

function isMissing(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound'].includes(nameOf(error));
}
