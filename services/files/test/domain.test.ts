import { readConfig } from '@commonplace/kit/config';
import { newId } from '@commonplace/kit/id';
import { CreateFileRequest } from '@commonplace/proto/files/v1/file_service.js';
import { describe, expect, test } from '@jest/globals';
import { parseS3Url } from '../src/blobs/s3-url.js';
import { config } from '../src/config.js';
import { decodeBase64 } from '../src/domain/base64.js';
import { blobKey, layoutOf, ownerOf, partAt, thumbnailKey, thumbnailWidth, uploadKey } from '../src/domain/layout.js';
import { createTokens, type Grant } from '../src/domain/tokens.js';
import { readFileRequest } from '../src/uploads/file-request.js';

const MIB = 1024 * 1024;

describe('tokens', () => {
  const tokens = createTokens(Buffer.from('a key'), () => 1_000_000);
  const grant: Grant = {
    kind: 'get',
    versionId: newId(),
    name: 'naïve – 文書',
    inline: true,
    sandboxed: false,
    expires: 1001,
  };

  test('return what was signed until they expire', () => {
    expect(tokens.verify(tokens.sign(grant))).toEqual(grant);
    expect(tokens.verify(tokens.sign({ ...grant, expires: 1000 }))).toBeUndefined();
  });

  test('are invalid when changed, truncated or signed by another key', () => {
    const token = tokens.sign(grant);
    const [claims = '', mac = ''] = token.split('.');
    const other = Buffer.from(JSON.stringify({ ...grant, versionId: newId() })).toString('base64url');
    for (const bad of ['', '.', 'a.b', claims, `${claims}.`, `${other}.${mac}`, `${token}.`, token.slice(0, -1)]) {
      expect(tokens.verify(bad)).toBeUndefined();
    }
    expect(createTokens(Buffer.from('another'), () => 0).verify(token)).toBeUndefined();
  });
});

describe('Base64', () => {
  test.each([
    ['', ''],
    ['V29yZHM=', 'Words'],
    ['V29yZHM', 'Words'],
    ['_-8=', Buffer.from([0xff, 0xef]).toString('latin1')],
  ])('decodes %j', async (text, bytes) => {
    expect((await decodeBase64(text, async () => {}))?.toString('latin1')).toBe(bytes);
  });

  test.each(['!', 'A', 'V29y ZHM=', 'V29yZHM=V', 'data:text/plain;base64,AA==', 'AA\0A', 'ÄÄÄÄ'])(
    'refuses %j',
    async (text) => expect(await decodeBase64(text, async () => {})).toBeUndefined(),
  );
});

test('decodes long Base64 and endless padding with pauses', async () => {
  const bytes = Buffer.alloc(MIB, 'abc');
  let pauses = 0;
  const breathe = async () => void pauses++;
  expect((await decodeBase64(bytes.toString('base64'), breathe))?.equals(bytes)).toBe(true);
  expect(pauses).toBeGreaterThan(4);
  expect(await decodeBase64(`${'='.repeat(4 * MIB)}A`, breathe)).toBeUndefined();
});

describe('upload parts', () => {
  test('cover the file with equal sizes except for the last one', () => {
    const layout = layoutOf(35 * MIB, 16 * MIB);
    expect(layout).toEqual({ partBytes: 16 * MIB, partCount: 3 });
    expect([1, 2, 3].map((number) => partAt(35 * MIB, layout, number))).toEqual([
      { offset: 0, sizeBytes: 16 * MIB },
      { offset: 16 * MIB, sizeBytes: 16 * MIB },
      { offset: 32 * MIB, sizeBytes: 3 * MIB },
    ]);
    expect([0, 4, -1].map((number) => partAt(35 * MIB, layout, number))).toEqual([undefined, undefined, undefined]);
  });

  test('are larger when there would be too many', () => {
    const layout = layoutOf(5 * 1024 * 1024 * MIB, 16 * MIB);
    expect(layout.partCount).toBeLessThanOrEqual(1000);
    expect(layout.partBytes * layout.partCount).toBeGreaterThanOrEqual(5 * 1024 * 1024 * MIB);
  });
});

test('derives the owner of bytes from their key', () => {
  const id = newId();
  expect(ownerOf(blobKey(id))).toEqual({ blobId: id });
  expect(ownerOf(thumbnailKey(id, 256))).toEqual({ blobId: id });
  expect(ownerOf(uploadKey(id))).toEqual({ uploadId: id });
  expect(['a', `${id}`, `uploads/${id}x`, 'aa/b'].map(ownerOf)).toEqual([undefined, undefined, undefined, undefined]);
});

test('limits thumbnails to a few widths', () => {
  expect([16, 64, 65, 300, 2048, 4000].map(thumbnailWidth)).toEqual([64, 64, 128, 512, 2048, 2048]);
});

test('reads credentials from the URL of a bucket', () => {
  expect(parseS3Url('https://key:se%2Fcret@s3.example:9000/files/there?region=eu-west-1')).toEqual({
    endpoint: 'https://s3.example:9000',
    bucket: 'files',
    prefix: 'there/',
    region: 'eu-west-1',
    credentials: { accessKeyId: 'key', secretAccessKey: 'se/cret' },
  });
  expect(parseS3Url('http://s3/files')).toEqual({
    endpoint: 'http://s3',
    bucket: 'files',
    prefix: '',
    region: 'us-east-1',
  });
  expect(() => parseS3Url('https://s3.example/')).toThrow('must name a bucket');
});

describe('import request', () => {
  const settings = readConfig(config, {});
  const guard = { check: (url: string) => new URL(url) };
  const read = (fields: Partial<CreateFileRequest>) =>
    readFileRequest(CreateFileRequest.fromPartial({ name: 'a', ...fields }), settings, guard);

  test('returns the origin of the bytes', async () => {
    expect((await read({})).from).toBe('upload');
    expect((await read({ contentBase64: '' })).from).toEqual({ bytes: Buffer.alloc(0) });
    expect((await read({ sourceUrl: 'https://example.com/' })).from).toEqual({ url: 'https://example.com/' });
    expect((await read({ checksumSha256: 'AB'.repeat(32) })).sha256).toBe('ab'.repeat(32));
  });

  test('reports all its faults', async () => {
    const wrong = { name: '', contentBase64: '!', sourceUrl: 'https://example.com/', checksumSha256: 'z'.repeat(64) };
    await expect(read(wrong)).rejects.toThrow('4 fields are not valid.');
    await expect(read({ sizeBytes: settings.fileBytes + 1 })).rejects.toThrow(/at most \d+ bytes/);
  });
});
