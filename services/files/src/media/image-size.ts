import { headOf, type Source } from './source.js';

/** Bytes that are read for the size, which cameras and editors write after their metadata. */
const HEAD_BYTES = 512 * 1024;

interface ImageSize {
  /** In pixels, after applying the orientation. */
  readonly width: number;
  readonly height: number;
}

/** Returns whether an EXIF orientation swaps width and height. */
const isTurned = (orientation: number | undefined): boolean => orientation !== undefined && orientation >= 5;

/**
 * Returns the size of a raster image from its header, without decoding it. Undefined when it is not an image, or its
 * first 512 KiB contain no size. Rejects with the error of the file system when the file can't be read.
 */
export async function imageSize(source: Source): Promise<ImageSize | undefined> {
  const head = await headOf(source, HEAD_BYTES);
  const { imageSize: measure, disableTypes } = await import('image-size');
  // Vector images have no size in pixels, and the other formats are never shown: untrusted bytes need not reach their
  // parsers.
  disableTypes(['svg', 'cur', 'dds', 'icns', 'j2c', 'jp2', 'jxl', 'jxl-stream', 'ktx', 'pnm', 'psd', 'tga']);
  try {
    const { width, height, orientation } = measure(head);
    if (!(width > 0 && height > 0)) return undefined;
    return isTurned(orientation) ? { width: height, height: width } : { width, height };
  } catch {
    return undefined;
  }
}
