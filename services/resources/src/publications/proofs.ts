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

/** Seconds for which a frame can be opened, and what it shows be loaded: it is asked for at once. */
export const FRAME_SECONDS = 60;
export const FRAMED_FILE_SECONDS = 600;

/** One thing of a publication that a pass is good for. */
export type Passed = `frame ${string}` | `file ${string}`;

/** What stands for the password with one thing alone, and may be in a URL therefore. */
export function signPass(publication: Protected, thing: Passed, seconds: number, nowMs: number): string {
  const expires = Math.floor(nowMs / 1000) + seconds;
  return `${expires}.${macOf(publication, expires, thing)}`;
}

export function opensBy(publication: Protected, thing: Passed, pass: string | undefined, nowMs: number): boolean {
  return pass !== undefined && endOf(publication, pass, nowMs, thing) !== undefined;
}

/** When a proof ends, in RFC 3339; undefined for what proves nothing now. */
export function proofEnd(publication: Protected, proof: string, nowMs: number): string | undefined {
  return endOf(publication, proof, nowMs);
}

function endOf(publication: Protected, signed: string, nowMs: number, thing?: Passed): string | undefined {
  const [expires = '', mac = '', ...rest] = signed.split('.');
  if (rest.length > 0 || !/^\d{1,12}$/.test(expires) || publication.proofKey === undefined) return undefined;
  const given = Buffer.from(mac);
  const right = Buffer.from(macOf(publication, Number(expires), thing));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
  const ends = Number(expires) * 1000;
  return ends > nowMs ? new Date(ends).toISOString() : undefined;
}

function macOf({ id, proofKey = '' }: Protected, expires: number, thing?: Passed): string {
  const signed = thing === undefined ? `${id} ${expires}` : `${id} ${expires} ${thing}`;
  return createHmac('sha256', Buffer.from(proofKey, 'base64')).update(signed).digest('base64url');
}
