import type { Entry, ItemContent, LinkTarget, Source, SourceItem, SourceOptions } from '../sources/port.js';
import type { Further } from './rows.js';

/** Holds what a thread needs to open a source; it requests the bytes of entries separately. */
export interface OpenTask {
  readonly type: string;
  readonly options: SourceOptions;
  readonly tenant: string | undefined;
  readonly entries: readonly Entry[];
}

/** Holds what is known of a source once it is open. */
export interface OpenedSource extends Pick<Source, 'items' | 'skipped' | 'opaquePaths' | 'notes'> {
  readonly opensFiles: boolean;
  /** Reasons why items are not imported, by their position in `items`. */
  readonly unavailable: readonly (readonly [number, { readonly code: string; readonly message: string }])[];
}

/** The content of an item without its body, which stays in the thread until its links are resolved. */
export type ItemFacts = Omit<ItemContent, 'markdown' | 'wikiLinks' | 'html' | 'json'>;

/** A link of a body, the number of its occurrences, and its target. */
export type FoundLink = readonly [href: string, times: number, target: LinkTarget];

/** Links in one message, so that many of them block neither side. */
export const LINKS_AT_ONCE = 1000;

/** Holds a body as it is written; further pieces of it may follow. */
export interface PutBody {
  readonly fields: { readonly markdown?: string; readonly html?: string; readonly contentJson?: Buffer };
  readonly rows: number;
  readonly bytes: number;
  readonly hasFurther: boolean;
}

export type { Further, SourceItem };
