/**
 * The result of a visit over HTTPS: the certificate is trusted by browsers for the name; it is refused; or the visit
 * is inconclusive, because the host does not answer or must not be called from here.
 */
export type Visit = 'trusted' | 'refused' | 'unknown';

/**
 * Visits domains as a browser would.
 *
 * Duties of an adapter:
 * - It goes through the guard of all fetches: no non-public address unless the operator has allowed it.
 * - It never throws, and answers within ten seconds. Over plain HTTP there is no certificate to check.
 */
export interface CertificateProbe {
  /** Visits an origin such as `https://docs.example.com`. */
  visit(origin: string): Promise<Visit>;
}

/** The known state of a domain's certificate; undefined if nothing is known. */
export type CertificateState = 'pending' | 'issued' | 'failed' | undefined;

const HOUR_MS = 3_600_000;
/** Milliseconds after the claim in which a missing certificate counts as pending instead of failed. */
const PENDING_FOR_MS = 48 * HOUR_MS;

/**
 * Returns the state after a visit. `addedAt` is when the domain was claimed. A visit with result `unknown` changes
 * nothing.
 */
export function certificateAfter(
  known: CertificateState,
  visit: Visit,
  addedAt: string,
  now: string,
): CertificateState {
  if (visit === 'unknown') return known;
  if (visit === 'trusted') return 'issued';
  const isNew = Date.parse(now) - Date.parse(addedAt) < PENDING_FOR_MS;
  return isNew && (known === undefined || known === 'pending') ? 'pending' : 'failed';
}
