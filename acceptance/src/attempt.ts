/** A request that must be refused, with the error expected. */
export interface Attempt {
  readonly about: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Accepted error codes; the first is the best. */
  readonly codes: readonly string[];
  /** The parameter that the error must name. */
  readonly param?: string | undefined;
  readonly status?: number;
}

/** Query parameters of paging. */
export const PAGE_NAMES: ReadonlySet<string> = new Set(['limit', 'offset', 'cursor']);
