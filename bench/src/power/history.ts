import type { Known } from '../soak/known.js';
import type { Ground } from '../soak/operations.js';

/** A write that was answered, and the place of its answer in the recording. */
export interface Answered {
  readonly requestId: string;
  /** Index of the entry; a cut before it has acknowledged nothing. */
  readonly place: number;
}

/** A document's writes in order, each with the document after it and the event that it publishes. */
export type DocumentHistory = readonly (Answered & { readonly after: Known; readonly event: string })[];

export interface UploadHistory extends Answered {
  readonly id: string;
  readonly sha256: string;
  /** Whether the answer said that the file is ready. */
  readonly ready: boolean;
}

/** What the clients of a recording were answered, and when. */
export interface History {
  readonly ground: Ground;
  readonly documents: readonly DocumentHistory[];
  readonly uploadsWorkspaceId: string;
  readonly uploads: readonly UploadHistory[];
  /** Secrets of the data folder, by file name. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly bootstrap: string;
}
