import type { Media } from '../media/index.js';
import type { StorageParts } from '../storage/parts.js';

/** Holds what extracting text depends on. */
export interface TextParts extends StorageParts {
  readonly media: Media;
  /** Runs work in the background; the jobs retry it when it fails. */
  readonly background: (what: string, work: () => Promise<unknown>) => void;
}
