/**
 * What a visit by https finds: a certificate that browsers trust for the name, another one, or nothing that says either:
 * nobody answers, or where the name leads is not to be called from here.
 */
export type Visit = 'trusted' | 'refused' | 'unknown';

/**
 * Visits domains as a browser would.
 *
 * Duties of an adapter:
 * - It goes through the guard of all fetches: no address that is not public unless the operator has said so.
 * - It never throws, and answers within ten seconds. By http there is no certificate to find.
 */
export interface CertificateProbe {
  /** `https://docs.example.com` */
  visit(origin: string): Promise<Visit>;
}

/** What is known of a domain's certificate; undefined where nothing is. */
export type CertificateState = 'pending' | 'issued' | 'failed' | undefined;

const HOUR_MS = 3_600_000;
/** For so long somebody may be about to get one. */
const PENDING_FOR_MS = 48 * HOUR_MS;

/** `addedAt` is when the domain was claimed. A visit that says nothing leaves what was known. */
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
