/** What the DNS says of a domain: which of its two records are there, or why nobody knows. */
export type Found = { readonly txt: boolean; readonly cname: boolean } | { readonly error: string };

export interface Wanted {
  readonly domain: string;
  readonly txtName: string;
  readonly txtValue: string;
  /** Host name that the domain has to lead to. */
  readonly target: string;
}

/**
 * Looks domains up.
 *
 * Duties of an adapter:
 * - `txt` is true where one of the texts at `txtName` is `txtValue`, its pieces put together.
 * - `cname` is true where `domain` is a name for `target`, by a CNAME, or because every address that it has is one of
 *   the target's: the top of a zone can have no CNAME.
 * - A name that is not there, or has no such record, is false. A server that does not answer, or fails, is an error.
 * - It never throws, and answers within half a minute.
 */
export interface DomainResolver {
  look(wanted: Wanted): Promise<Found>;
}
