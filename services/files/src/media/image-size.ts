import { headOf, type Source } from './source.js';

/** Behind the metadata that cameras and editors write before the size. */
const HEAD_BYTES = 512 * 1024;

export interface ImageSize {
  /** In pixels, as the picture is seen. */
  readonly width: number;
  readonly height: number;
}

/** The EXIF orientations that lay a picture on its side. */
const isTurned = (orientation: number | undefined): boolean => orientation !== undefined && orientation >= 5;

/**
 * The size of a raster image by its header; nothing is decoded. Undefined for what is no image, or tells no size in
 * its first 512 KiB. Rejects with the error of the file system where a path can't be read.
 */
export async function imageSize(source: Source): Promise<ImageSize | undefined> {
  const head = await headOf(source, HEAD_BYTES);
  const { imageSize: measure, disableTypes } = await import('image-size');
  // Vector images have no pixels, and these are never shown: their readers are not tried on a stranger's bytes.
  disableTypes(['svg', 'cur', 'dds', 'icns', 'j2c', 'jp2', 'jxl', 'jxl-stream', 'ktx', 'pnm', 'psd', 'tga']);
  try {
    const { width, height, orientation } = measure(head);
    if (!(width > 0 && height > 0)) return undefined;
    return isTurned(orientation) ? { width: height, height: width } : { width, height };
  } catch {
    return undefined;
  }
}
