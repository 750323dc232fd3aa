import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { imageSize, isThumbnailable, openMedia } from '../../src/media/index.js';
import { HTML_IN_PNG, HUGE_PNG, png, SVG_WITH_SCRIPT } from './hostile.js';
import { encryptedPdf, pdf, vastPdf } from './pdfs.js';

const media = openMedia({ thumbnailTimeoutMs: 25_000 });
const folder = mkdtempSync(join(tmpdir(), 'commonplace-media-'));
afterAll(async () => {
  await media.close();
  rmSync(folder, { recursive: true });
});

const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#c00' } });

/** Creates a JPEG with a rotated orientation, and with location and maker in its EXIF data. */
const turned = () =>
  picture(400, 200)
    .withExif({ IFD0: { Make: 'SecretCamera' }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();

const failure = (file: Buffer) =>
  media.thumbnail('org', file, { width: 100 }).then(
    () => 'none',
    (error) => error.reason,
  );

describe('size of an image', () => {
  test('is read from the header', async () => {
    expect(await imageSize(png(7, 5))).toEqual({ width: 7, height: 5 });
    expect(await imageSize(HUGE_PNG)).toEqual({ width: 50_000, height: 50_000 });
    for (const format of ['jpeg', 'webp', 'gif', 'avif'] as const)
      expect(await imageSize(await picture(40, 20).toFormat(format).toBuffer())).toEqual({ width: 40, height: 20 });
  });

  test('respects the orientation', async () => {
    expect(await imageSize(await turned())).toEqual({ width: 200, height: 400 });
  });

  test('is measured for a stored file', async () => {
    const path = join(folder, 'a.png');
    writeFileSync(path, png(7, 5));
    expect(await imageSize(path)).toEqual({ width: 7, height: 5 });
    await expect(imageSize(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('is missing for files without one', async () => {
    for (const file of [SVG_WITH_SCRIPT, Buffer.alloc(0), Buffer.from('text'), png(1, 1).subarray(0, 12)])
      expect(await imageSize(file)).toBeUndefined();
  });

  test('stops at a JPEG and a HEIF with parts of length 0', async () => {
    expect(await imageSize(Buffer.concat([Buffer.from('ffd8ffe00000', 'hex'), Buffer.alloc(1000)]))).toBeUndefined();
    const box = Buffer.from('00000018667479706176696600000000617669666d69663100000000', 'hex');
    expect(await imageSize(Buffer.concat([box, Buffer.alloc(1000)]))).toBeUndefined();
  });
});

describe('thumbnail', () => {
  test('fits the box and is not enlarged', async () => {
    const file = await picture(400, 200).png().toBuffer();
    expect(await media.thumbnail('org', file, { width: 100 })).toMatchObject({
      contentType: 'image/webp',
      width: 100,
      height: 50,
    });
    expect(await media.thumbnail('org', file, { width: 1000, height: 100 })).toMatchObject({ width: 200, height: 100 });
    expect(await media.thumbnail('org', file, { width: 9999 })).toMatchObject({ width: 400, height: 200 });
  });

  test('is created for each supported format', async () => {
    for (const format of ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff'] as const) {
      const { bytes } = await media.thumbnail('org', await picture(40, 20).toFormat(format).toBuffer(), { width: 10 });
      expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 10, height: 5 });
      expect(isThumbnailable(`image/${format}`)).toBe(true);
    }
    for (const type of ['image/svg+xml', 'image/vnd.adobe.photoshop', 'text/html'])
      expect(isThumbnailable(type)).toBe(false);
  });

  test('is upright and contains no metadata of the camera', async () => {
    const path = join(folder, 'turned.jpg');
    const original = await turned();
    writeFileSync(path, original);
    expect(original.includes('SecretCamera')).toBe(true);
    const { bytes, width, height } = await media.thumbnail('org', path, { width: 100 });
    expect([width, height]).toEqual([50, 100]);
    expect(bytes.includes('SecretCamera')).toBe(false);
    const { exif, orientation, icc, xmp } = await sharp(bytes).metadata();
    expect([exif, orientation, icc, xmp]).toEqual([undefined, undefined, undefined, undefined]);
  });

  test('shows the first page of a PDF', async () => {
    const file = await pdf([['Black words on white'.repeat(3)], ['second']]);
    const { bytes, width, height } = await media.thumbnail('org', file, { width: 200 });
    expect([width, height]).toEqual([141, 200]);
    const { channels } = await sharp(bytes).flatten({ background: 'red' }).stats();
    expect(channels.map(({ max }) => max)).toEqual([255, 255, 255]);
    expect(channels[0]?.min).toBeLessThan(200);
  });

  test('fits the box for a PDF with an endless page', async () => {
    const { width, height } = await media.thumbnail('org', vastPdf(), { width: 200 });
    expect(Math.max(width, height)).toBe(200);
  });

  test('of an image of a page is an image', async () => {
    const { bytes } = await media.thumbnail('org', HTML_IN_PNG, { width: 4 });
    expect(bytes.subarray(0, 4).toString()).toBe('RIFF');
    expect(bytes.includes('script')).toBe(false);
  });

  test('is refused for harmful files', async () => {
    expect(await failure(HUGE_PNG)).toBe('too_large');
    expect(await failure(SVG_WITH_SCRIPT)).toBe('unsupported_type');
    expect(await failure(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'))).toBe(
      'unsupported_type',
    );
    expect(await failure(Buffer.from('%PDF-1.7'))).toBe('broken');
    expect(await failure(encryptedPdf())).toBe('encrypted');
    expect(await failure(png(100, 100).subarray(0, 60))).toBe('broken');
    expect(await failure(Buffer.alloc(0))).toBe('broken');
  });
});
