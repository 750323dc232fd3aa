import { ListMultipartUploadsCommand, type S3Client } from '@aws-sdk/client-s3';

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
