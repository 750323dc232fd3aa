import { ListMultipartUploadsCommand, ListPartsCommand, type Part, type S3Client } from '@aws-sdk/client-s3';

/** Yields the multipart uploads below a prefix of keys that were neither completed nor aborted. */
export async function* unfinishedUploads(client: S3Client, bucket: string, prefix: string, below: string) {
  let after: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {};
  for (;;) {
    const page = await client.send(
      new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix + below, ...after }),
    );
    for (const { Key = '', UploadId = '', Initiated } of page.Uploads ?? []) {
      yield { key: Key.slice(prefix.length), upload: UploadId, begunAt: Initiated?.getTime() ?? Date.now() };
    }
    if (page.IsTruncated !== true) return;
    after = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
  }
}

/**
 * Lists the parts of an upload by number. The SDK's paginator never ends when a server names a next page that does not
 * exist.
 */
export async function listParts(client: S3Client, upload: { Bucket: string; Key: string; UploadId: string }) {
  const parts: Part[] = [];
  for (let PartNumberMarker: string | undefined; ; ) {
    const page = await client.send(new ListPartsCommand({ ...upload, PartNumberMarker }));
    parts.push(...(page.Parts ?? []));
    if (page.IsTruncated !== true) return parts;
    PartNumberMarker = page.NextPartNumberMarker;
  }
}
