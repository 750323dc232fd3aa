/** A request that has to be refused: how, and what its error says. */
export interface Attempt {
  readonly about: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** The codes that are right; the first is the best. */
  readonly codes: readonly string[];
  /** What the error has to name. */
  readonly param?: string | undefined;
  readonly status?: number;
}

/** What a list is paged by. */
export const PAGE_NAMES: ReadonlySet<string> = new Set(['limit', 'offset', 'cursor']);
