import { ListMultipartUploadsCommand, ListPartsCommand, type Part, type S3Client } from '@aws-sdk/client-s3';

/** Puts in parts that a bucket holds and nobody has completed, below a prefix of keys. */
export async function* unfinishedUploads(client: S3Client, bucket: string, prefix: string, below: string) {
  let after: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {};
  for (;;) {
    const page = await client.send(
      new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix + below, ...after }),
    );
    for (const { Key = '', UploadId = '' } of page.Uploads ?? []) {
      yield { key: Key.slice(prefix.length), upload: UploadId };
    }
    if (page.IsTruncated !== true) return;
    after = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
  }
}

/** The parts of an upload, by number; the SDK's pages never end where a server names a next one that is not there. */
export async function listParts(client: S3Client, upload: { Bucket: string; Key: string; UploadId: string }) {
  const parts: Part[] = [];
  for (let PartNumberMarker: string | undefined; ; ) {
    const page = await client.send(new ListPartsCommand({ ...upload, PartNumberMarker }));
    parts.push(...(page.Parts ?? []));
    if (page.IsTruncated !== true) return parts;
    PartNumberMarker = page.NextPartNumberMarker;
  }
}
