import type { MediaReason } from './failure.js';

/** The messages between the service and the parser process, which handles one task at a time. */
export interface ThumbnailTask {
  readonly kind: 'thumbnail';
  readonly source: string | Uint8Array;
  /** Maximum size in pixels. */
  readonly width: number;
  readonly height: number;
  /** Larger images are refused by their header. */
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
  /** Of a PDF, a book or a presentation; the rest is left out. */
  readonly maxPages: number;
  /** Total unpacked bytes of an archive's parts that contain text. */
  readonly maxUnpacked: number;
}

/** Requests a Word document as HTML. */
export interface PageTask {
  readonly kind: 'page';
  readonly source: string | Uint8Array;
  readonly limits: TextLimits;
}

/** Requests the names of a workbook's sheets, or the cells of one of them. */
export interface SheetTask {
  readonly kind: 'sheet';
  readonly source: string | Uint8Array;
  readonly sheet?: string;
  readonly limits: TextLimits;
  /** Limits of the sheet; a larger one is refused. */
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
  /** Whether a limit caused text to be left out. */
  readonly truncated: boolean;
  /** Number of pages of a PDF, slides of a presentation or sheets of a workbook. */
  readonly pages?: number;
  /**
   * Offset of each extracted page in the text, in UTF-16 units; a page without text has the offset where its text would
   * be.
   */
  readonly pageStarts?: readonly number[];
}

/** Holds a Word document as HTML. URLs of images are the names of their parts in the document's archive. */
export interface WordPage {
  readonly html: string;
  /** Parts with the images that the document shows. */
  readonly images: readonly WordImage[];
  /** Core properties by their names without a prefix: `title`, `creator`, `created`, … */
  readonly properties: Readonly<Record<string, string>>;
  /** Messages of the parser about what it did not understand. */
  readonly messages: readonly string[];
  /** Content of the document that is not in the HTML: the number of comments, and the text of headers. */
  readonly beside: { readonly comments: number; readonly headers: string };
}

export interface WordImage {
  /** Name of the part in the document's archive. */
  readonly name: string;
  /** Unpacked. */
  readonly sizeBytes: number;
}

export type SheetCell = null | string | number | boolean | Date;

export interface Sheet {
  readonly sheets: readonly string[];
  /** Rows of the requested sheet, all of the same length. */
  readonly rows: readonly (readonly SheetCell[])[];
  /** Indexes of rows in which a cell spans several columns. */
  readonly merged: readonly number[];
  /** Places of cells, such as `B2`, with a formula whose value the workbook does not have; they are empty in `rows`. */
  readonly uncalculated: readonly string[];
}

export type Outcome =
  | { readonly value: Thumbnail | Extraction | WordPage | Sheet }
  | { readonly reason: MediaReason; readonly message: string };

/** An outcome, and whether the process should be replaced before the next file. */
export type Reply = Outcome & { readonly isSpent: boolean };

/** Holds the settings that the process gets as JSON in its first argument. */
export interface ProcessData {
  readonly memoryBytes: number;
}
