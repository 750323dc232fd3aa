import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PublicationRecord } from './records.js';

/** Seconds for which a password need not be entered again. */
export const PROOF_SECONDS = 12 * 3600;

/** Seconds for which a browser keeps a proof. An expired proof still distinguishes a known reader from a stranger. */
export const REMEMBERED_SECONDS = 30 * 24 * 3600;

type ProtectedPublication = Pick<PublicationRecord, 'id' | 'proofKey'>;

/** Signs a proof that a reader has entered the correct password. A new password invalidates it. */
export function signProof(publication: ProtectedPublication, nowMs: number): string {
  const expires = Math.floor(nowMs / 1000) + PROOF_SECONDS;
  return `${expires}.${macOf(publication, expires)}`;
}

/**
 * Seconds for which a frame can be opened, and for which its files can be loaded. A page requests the frame at once.
 */
export const FRAME_SECONDS = 60;
export const FRAMED_FILE_SECONDS = 600;

/** The one frame or file that a pass is valid for. */
export type PassTarget = `frame ${string}` | `file ${string}`;

/** Signs a pass that replaces the password for one thing only, and may therefore be in a URL. */
export function signPass(publication: ProtectedPublication, thing: PassTarget, seconds: number, nowMs: number): string {
  const expires = Math.floor(nowMs / 1000) + seconds;
  return `${expires}.${macOf(publication, expires, thing)}`;
}

export function opensBy(
  publication: ProtectedPublication,
  thing: PassTarget,
  pass: string | undefined,
  nowMs: number,
): boolean {
  return pass !== undefined && endOf(publication, pass, nowMs, thing) !== undefined;
}

/** Returns when a proof expires, in RFC 3339; undefined if it is invalid or has expired. */
export function proofEnd(publication: ProtectedPublication, proof: string, nowMs: number): string | undefined {
  return endOf(publication, proof, nowMs);
}

/** Returns whether a proof was issued for the current password within REMEMBERED_SECONDS, even if it has expired. */
export function hasProvenBefore(publication: ProtectedPublication, proof: string, nowMs: number): boolean {
  return endOf(publication, proof, nowMs - (REMEMBERED_SECONDS - PROOF_SECONDS) * 1000) !== undefined;
}

/** Returns when a signed value expires, if that is after `nowMs` and the signature is valid. */
function endOf(
  publication: ProtectedPublication,
  signed: string,
  nowMs: number,
  thing?: PassTarget,
): string | undefined {
  const [expires = '', mac = '', ...rest] = signed.split('.');
  if (rest.length > 0 || !/^\d{1,12}$/.test(expires) || publication.proofKey === undefined) return undefined;
  const given = Buffer.from(mac);
  const right = Buffer.from(macOf(publication, Number(expires), thing));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
  const ends = Number(expires) * 1000;
  return ends > nowMs ? new Date(ends).toISOString() : undefined;
}

function macOf({ id, proofKey = '' }: ProtectedPublication, expires: number, thing?: PassTarget): string {
  const signed = thing === undefined ? `${id} ${expires}` : `${id} ${expires} ${thing}`;
  return createHmac('sha256', Buffer.from(proofKey, 'base64')).update(signed).digest('base64url');
}
