import { blobContract } from '../../src/blobs/contract.js';
import { openS3Store } from '../../src/blobs/s3.js';

const url = process.env.COMMONPLACE_S3_URL;
if (url === undefined) throw new Error('COMMONPLACE_S3_URL is not set: node scripts/with-servers.mjs sets it');

blobContract('a bucket', async () => {
  const store = openS3Store({ url });
  return { store, close: () => store.close() };
});
