import sharp from 'sharp';
import { MediaFailure } from '../failure.js';
import type { Thumbnail, ThumbnailTask } from '../protocol.js';

const QUALITY = 80;

sharp.cache(false);
sharp.concurrency(1);
// Only readers of raster images, and of those the ones in wide use: no SVG, no PDF, no scientific formats.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    'VipsForeignLoadJpeg',
    'VipsForeignLoadPng',
    'VipsForeignLoadWebp',
    'VipsForeignLoadNsgif',
    'VipsForeignLoadTiff',
    'VipsForeignLoadHeif',
  ],
});

function failureOf(error: unknown): MediaFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (/exceeds pixel limit/i.test(message)) return new MediaFailure('too_large', 'the image has too many pixels');
  return /unsupported image format/i.test(message)
    ? new MediaFailure('unsupported_type', 'the file is no image that can be read')
    : new MediaFailure('broken', message);
}

/** A picture that fits into the box, from the first frame, upright and in sRGB; its metadata is left behind. */
export async function createThumbnail({ source, width, height, maxPixels }: ThumbnailTask): Promise<Thumbnail> {
  try {
    // The limit is checked against the header, before anything is decoded.
    const image = sharp(source, { limitInputPixels: maxPixels, failOn: 'error' });
    const { data, info } = await image
      .autoOrient()
      .resize(width, height, { fit: 'inside', withoutEnlargement: true })
      .webp({ quality: QUALITY })
      .toBuffer({ resolveWithObject: true });
    return { bytes: data, contentType: 'image/webp', width: info.width, height: info.height };
  } catch (error) {
    throw failureOf(error);
  }
}
