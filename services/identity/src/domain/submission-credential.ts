import { randomBytes } from 'node:crypto';
import { hashedBy, keyedHash } from './keyed-hash.js';

/** What every submission credential begins with; no API key and no JSON Web Token does. */
export const SUBMISSION_PREFIX = 'wsf_';
/** Milliseconds for which one is good. */
export const SUBMISSION_MS = 2 * 3_600_000;

/** What a submission credential opens: one form, for a while. */
export interface SubmissionGrant {
  readonly formId: string;
  readonly orgId: string | null;
  /** Epoch milliseconds. */
  readonly expires: number;
  /** Names the credential in limits. */
  readonly nonce: string;
}

type Packed = readonly [formId: string, orgId: string, expires: number, nonce: string];

/** `wsf_<what it opens>.<HMAC-SHA256 of it>`: nothing is stored of it. */
export function mintSubmissionCredential(
  keys: readonly Buffer[],
  grant: Pick<SubmissionGrant, 'formId' | 'orgId' | 'expires'>,
): string {
  const [key] = keys;
  if (key === undefined) throw new Error('a submission credential needs a key');
  const packed: Packed = [grant.formId, grant.orgId ?? '', grant.expires, randomBytes(9).toString('base64url')];
  const text = Buffer.from(JSON.stringify(packed)).toString('base64url');
  return `${SUBMISSION_PREFIX}${text}.${keyedHash(key, text)}`;
}

/** What a credential opens; undefined where no key has made it. Whether it is over is another question. */
export function readSubmissionCredential(keys: readonly Buffer[], credential: string): SubmissionGrant | undefined {
  const [text = '', signature = '', ...more] = credential.slice(SUBMISSION_PREFIX.length).split('.');
  if (more.length > 0 || hashedBy(keys, text, signature) < 0) return undefined;
  const [formId, orgId, expires, nonce] = JSON.parse(Buffer.from(text, 'base64url').toString()) as Packed;
  return { formId, orgId: orgId || null, expires, nonce };
}
