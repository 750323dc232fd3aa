import { newId } from '@commonplace/kit/id';
import { installationContract } from '@commonplace/kit/testing';
import { openS3Store } from '../../src/blobs/s3.js';
import { openS3Installation } from '../../src/blobs/s3-installation.js';
import { blobKey } from '../../src/domain/layout.js';

const bucket = process.env.COMMONPLACE_S3_URL;
if (bucket === undefined) throw new Error('COMMONPLACE_S3_URL is not set: node scripts/with-servers.mjs sets it');

installationContract('a prefix of a bucket', async () => {
  const url = new URL(bucket);
  url.pathname += `/i${newId()}`;
  const store = openS3Store({ url: url.href });
  return {
    isShared: true,
    open: async () => openS3Installation(url.href),
    fill: async () => void (await store.put(blobKey(newId()), [Buffer.from('x')])),
    async close() {
      for await (const { key } of store.list('')) await store.delete(key);
      await store.close();
    },
  };
});
