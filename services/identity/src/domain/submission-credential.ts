import { randomBytes } from 'node:crypto';
import { hashedBy, keyedHash } from './keyed-hash.js';

/** The prefix of every submission credential. No API key and no JSON Web Token starts with it. */
export const SUBMISSION_PREFIX = 'wsf_';
/** Lifetime of a submission credential in milliseconds. */
export const SUBMISSION_MS = 2 * 3_600_000;

/** What a submission credential gives access to: one form, for a limited time. */
interface SubmissionGrant {
  readonly formId: string;
  readonly orgId: string | null;
  /** Epoch milliseconds. */
  readonly expires: number;
  /** Identifies the credential in rate limits. */
  readonly nonce: string;
}

type Packed = readonly [formId: string, orgId: string, expires: number, nonce: string];

/** Returns a credential: `wsf_<payload>.<HMAC-SHA256 of it>`. Nothing is stored. */
export function mintSubmissionCredential(
  keys: readonly Buffer[],
  grant: Pick<SubmissionGrant, 'formId' | 'orgId' | 'expires'>,
): string {
  const [key] = keys;
  if (key === undefined) throw new Error('a submission credential requires a key');
  const packed: Packed = [grant.formId, grant.orgId ?? '', grant.expires, randomBytes(9).toString('base64url')];
  const text = Buffer.from(JSON.stringify(packed)).toString('base64url');
  return `${SUBMISSION_PREFIX}${text}.${keyedHash(key, text)}`;
}

/** Returns the payload of a credential; undefined if no key has signed it. Callers check the expiry. */
export function readSubmissionCredential(keys: readonly Buffer[], credential: string): SubmissionGrant | undefined {
  const [text = '', signature = '', ...more] = credential.slice(SUBMISSION_PREFIX.length).split('.');
  if (more.length > 0 || hashedBy(keys, text, signature) < 0) return undefined;
  const [formId, orgId, expires, nonce] = JSON.parse(Buffer.from(text, 'base64url').toString()) as Packed;
  return { formId, orgId: orgId || null, expires, nonce };
}
