/** A request that must be refused, and the expected error. */
export interface Attempt {
  readonly about: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Accepted error codes. The first is the best one. */
  readonly codes: readonly string[];
  /** The parameter that the error must name. */
  readonly param?: string | undefined;
  readonly status?: number;
}

/** Query parameters of paging. */
export const PAGE_NAMES: ReadonlySet<string> = new Set(['limit', 'offset', 'cursor']);
