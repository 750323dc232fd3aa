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

/** A Word document as HTML. */
export interface PageTask {
  readonly kind: 'page';
  readonly source: string | Uint8Array;
  readonly limits: TextLimits;
}

/** The names of a workbook's sheets, or the cells of one of them. */
export interface SheetTask {
  readonly kind: 'sheet';
  readonly source: string | Uint8Array;
  readonly sheet?: string;
  readonly limits: TextLimits;
  /** Of the sheet; a larger one is refused. */
  readonly maxRows: number;
  readonly maxColumns: number;
}

export type Task = ThumbnailTask | TextTask | PageTask | SheetTask;

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
  /** Where each of these that was read begins in the text, in UTF-16 units; of one without text, where its text would. */
  readonly pageStarts?: readonly number[];
}

/** A Word document as HTML whose images are addressed by the names of their parts in the document's archive. */
export interface WordPage {
  readonly html: string;
  /** Parts that hold the images which the document shows. */
  readonly images: readonly WordImage[];
  /** The core properties, by their names without a prefix: `title`, `creator`, `created`, … */
  readonly properties: Readonly<Record<string, string>>;
  /** What was not understood, as the parser says it. */
  readonly messages: readonly string[];
  /** What the document has beside its text and which is not in the HTML. */
  readonly beside: { readonly comments: number; readonly headers: string };
}

export interface WordImage {
  /** The part of the document's archive. */
  readonly name: string;
  /** Unpacked. */
  readonly sizeBytes: number;
}

export type SheetCell = null | string | number | boolean | Date;

export interface Sheet {
  readonly sheets: readonly string[];
  /** Of the sheet that was asked for, all of the same length. */
  readonly rows: readonly (readonly SheetCell[])[];
  /** The places of rows in which a cell goes over several columns. */
  readonly merged: readonly number[];
}

export type Outcome =
  | { readonly value: Thumbnail | Extraction | WordPage | Sheet }
  | { readonly reason: MediaReason; readonly message: string };

/** An outcome, and whether the process should read no other file after it. */
export type Reply = Outcome & { readonly isSpent: boolean };

/** What the process is started with, as JSON in its first argument. */
export interface ProcessData {
  readonly memoryBytes: number;
}
