import type { MediaReason } from './failure.js';

/** What the process of parsers is asked and answers, one task at a time. */
export interface ThumbnailTask {
  readonly kind: 'thumbnail';
  readonly source: string | Uint8Array;
  /** The box in pixels. */
  readonly width: number;
  readonly height: number;
  /** Larger pictures are refused by their header. */
  readonly maxPixels: number;
}

export interface TextTask {
  readonly kind: 'text';
  readonly source: string | Uint8Array;
  readonly contentType: string;
  readonly limits: TextLimits;
}

export interface TextLimits {
  /** Of the text, in UTF-16 units; the rest is left out. */
  readonly maxChars: number;
  /** Of a PDF, a book or a set of slides; the rest is left out. */
  readonly maxPages: number;
  /** Of the parts of an archive that hold text, unpacked, in bytes. */
  readonly maxUnpacked: number;
}

export type Task = ThumbnailTask | TextTask;

export interface Thumbnail {
  readonly bytes: Buffer;
  readonly contentType: 'image/webp';
  /** In pixels. */
  readonly width: number;
  readonly height: number;
}

export interface Extraction {
  readonly text: string;
  /** Whether text was left out for a limit. */
  readonly truncated: boolean;
  /** Of a PDF, a set of slides or a workbook (its sheets). */
  readonly pages?: number;
}

export type Outcome =
  | { readonly value: Thumbnail | Extraction }
  | { readonly reason: MediaReason; readonly message: string };

/** An outcome, and whether the process should read no other file after it. */
export type Reply = Outcome & { readonly isSpent: boolean };

/** What the process is started with, as JSON in its first argument. */
export interface ProcessData {
  readonly memoryBytes: number;
}
