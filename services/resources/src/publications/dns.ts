/** The result of a lookup: which of a domain's two records exist, or the error that prevented it. */
export type Found = { readonly txt: boolean; readonly cname: boolean } | { readonly error: string };

export interface DomainQuery {
  readonly domain: string;
  readonly txtName: string;
  readonly txtValue: string;
  /** Host name that the domain has to point to. */
  readonly target: string;
}

/**
 * Looks up domains.
 *
 * Duties of an adapter:
 * - `txt` is true if one of the texts at `txtName` is `txtValue`, with its pieces joined.
 * - `cname` is true if `domain` points to `target`, either by a CNAME or because all of its addresses are addresses of
 *   the target: the apex of a zone cannot have a CNAME.
 * - A name that does not exist, or has no such record, is false. A server that does not answer, or fails, is an error.
 * - It never throws, and answers within half a minute.
 */
export interface DomainResolver {
  lookUp(wanted: DomainQuery): Promise<Found>;
}
