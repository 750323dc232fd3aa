import type { KnownDocument } from '../soak/known.js';
import type { WorkArea } from '../soak/operations.js';

/** A write that was answered, and the place of its answer in the recording. */
interface Answered {
  readonly requestId: string;
  /** Index of the answer in the recording. If the cut is before it, the write is not acknowledged. */
  readonly place: number;
}

/** A document's writes in order. Each has the resulting document and the event that the write publishes. */
export type DocumentHistory = readonly (Answered & { readonly after: KnownDocument; readonly event: string })[];

interface UploadHistory extends Answered {
  readonly id: string;
  readonly sha256: string;
  /** Whether the answer stated that the file is ready. */
  readonly ready: boolean;
}

/** The answers that the clients of a recording received, with their places. */
export interface History {
  readonly workArea: WorkArea;
  readonly documents: readonly DocumentHistory[];
  readonly uploadsWorkspaceId: string;
  readonly uploads: readonly UploadHistory[];
  /** Secrets of the data folder by file name. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly bootstrap: string;
}
