import sharp, { type Sharp } from 'sharp';
import { MediaFailure } from '../failure.js';
import type { Thumbnail, ThumbnailTask } from '../protocol.js';
import { headOf } from '../source.js';
import { bytesOf } from './bytes.js';
import { isTrap } from './trap.js';

const QUALITY = 80;
const PDF_MARK = '%PDF-';

sharp.cache(false);
sharp.concurrency(1);
// Allows only loaders of widely used raster formats: no SVG, no PDF, no scientific formats.
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
    ? new MediaFailure('unsupported_type', 'the file is not a readable image')
    : new MediaFailure('broken', message);
}

async function isPdf(source: string | Uint8Array): Promise<boolean> {
  const head = await headOf(typeof source === 'string' ? source : await bytesOf(source), PDF_MARK.length);
  return head.toString('latin1') === PDF_MARK;
}

async function open({ source, width, height, maxPixels }: ThumbnailTask): Promise<Sharp> {
  // The limit is checked against the header, before anything is decoded.
  const options = { limitInputPixels: maxPixels, failOn: 'error' as const };
  if (!(await isPdf(source))) return sharp(source, options);
  const { drawFirstPage } = await import('./pdf-page.js');
  const page = await drawFirstPage(await bytesOf(source), { width, height });
  return sharp(page.data, { ...options, raw: { width: page.width, height: page.height, channels: 4 } });
}

/**
 * Creates an image that fits into the box, upright, in sRGB and without metadata: from the first frame of an image or
 * the first page of a PDF.
 */
export async function createThumbnail(task: ThumbnailTask): Promise<Thumbnail> {
  try {
    const { data, info } = await (await open(task))
      .autoOrient()
      .resize(task.width, task.height, { fit: 'inside', withoutEnlargement: true })
      .webp({ quality: QUALITY })
      .toBuffer({ resolveWithObject: true });
    return { bytes: data, contentType: 'image/webp', width: info.width, height: info.height };
  } catch (error) {
    throw error instanceof MediaFailure || isTrap(error) ? error : failureOf(error);
  }
}
