import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PublicationRecord } from '../stores/publications.js';

/** Seconds for which a password need not be given again. */
export const PROOF_SECONDS = 12 * 3600;

type Protected = Pick<PublicationRecord, 'id' | 'proofKey'>;

/** What stands for a password that was right. A new password makes it worthless. */
export function signProof(publication: Protected, nowMs: number): string {
  const expires = Math.floor(nowMs / 1000) + PROOF_SECONDS;
  return `${expires}.${macOf(publication, expires)}`;
}

/** When a proof ends, in RFC 3339; undefined for what proves nothing now. */
export function proofEnd(publication: Protected, proof: string, nowMs: number): string | undefined {
  const [expires = '', mac = '', ...rest] = proof.split('.');
  if (rest.length > 0 || !/^\d{1,12}$/.test(expires) || publication.proofKey === undefined) return undefined;
  const given = Buffer.from(mac);
  const right = Buffer.from(macOf(publication, Number(expires)));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
  const ends = Number(expires) * 1000;
  return ends > nowMs ? new Date(ends).toISOString() : undefined;
}

function macOf({ id, proofKey = '' }: Protected, expires: number): string {
  return createHmac('sha256', Buffer.from(proofKey, 'base64')).update(`${id} ${expires}`).digest('base64url');
}
