import { imageSize } from './image-size.js';
import { SNIFF_BYTES, sniff } from './sniff.js';

/** Detects the content type from the first bytes of a file, and the dimensions of an image. */
export async function kindOf(head: Buffer, name: string, saidType: string | undefined) {
  const contentType = await sniff(head.subarray(0, SNIFF_BYTES), name, saidType);
  return { contentType, ...(contentType.startsWith('image/') ? await imageSize(head) : {}) };
}
