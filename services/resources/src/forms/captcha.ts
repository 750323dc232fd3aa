import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Fault } from '@commonplace/kit/errors';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** A proof-of-work challenge for a client. It is valid for one submission of one form until it expires. */
interface CaptchaChallenge {
  readonly challenge: string;
  /** Leading zero bits that the hash of the proof needs. */
  readonly bits: number;
  /** RFC 3339. */
  readonly expiresAt: string;
}

/** A solved challenge, as it is recorded with the submission that spends it. */
export interface ProvenChallenge {
  readonly id: string;
  readonly expiresAt: string;
}

/** A spent challenge with the id `<form>.<challenge's own id>`, stored until the challenge would have expired. */
export interface SpentCaptcha extends StoredRecord {
  readonly tenant: string;
  readonly formId: string;
  readonly expiresAt: string;
}

export const spentCaptchaCollection: CollectionSpec<SpentCaptcha> = {
  name: 'form_captchas',
  indexes: [{ fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

/** A proof of work; its text is the challenge, a dot, and the client's solution. */
interface Proof {
  readonly formToken: string;
  /** Empty if the client sends none. */
  readonly submissionId: string;
  readonly text: string;
}

type ProofOutcome = { readonly proven: ProvenChallenge } | { readonly fault: string };

/** Issues challenges and verifies proofs. Stores neither: submissions record the spent ones. */
export interface Captcha {
  issue(formId: string): CaptchaChallenge;
  check(formId: string, proof: Proof): ProofOutcome;
}

interface CaptchaOptions {
  /** Master keys, the current one first. */
  readonly masterKeys: readonly Buffer[];
  readonly bits: number;
  readonly validMs: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Random bytes in a challenge, which distinguish challenges of the same form and second. */
const ID_BYTES = 15;
const TEXT = /^((\d{1,12})\.(\d{1,2})\.([\w-]{20}))\.([\w-]{43})\.[A-Za-z0-9]{1,32}$/;

export function createCaptcha({ masterKeys, bits, validMs, now }: CaptchaOptions): Captcha {
  const keys = masterKeys.map((key) =>
    Buffer.from(hkdfSync('sha256', key, '', 'commonplace/resources/form-captcha', 32)),
  );
  const macBy = (key: Buffer, formId: string, signed: string) =>
    createHmac('sha256', key).update(`${formId}\n${signed}`).digest();

  return {
    issue(formId) {
      const ends = Math.floor((now() + validMs) / 1000);
      const signed = `${ends}.${bits}.${randomBytes(ID_BYTES).toString('base64url')}`;
      const mac = macBy(keys[0] as Buffer, formId, signed).toString('base64url');
      return { challenge: `${signed}.${mac}`, bits, expiresAt: new Date(ends * 1000).toISOString() };
    },

    check(formId, { formToken, submissionId, text }) {
      const [, signed = '', ends, asked, id = '', mac = ''] = TEXT.exec(text) ?? [];
      const given = Buffer.from(mac, 'base64url');
      const isOurs = keys.some((key) => {
        const right = macBy(key, formId, signed);
        return given.length === right.length && timingSafeEqual(given, right);
      });
      if (!isOurs) return { fault: 'contains no challenge of this form: solve the one in `captcha`.' };
      const expires = Number(ends) * 1000;
      if (expires <= now()) return { fault: 'solves a challenge that has expired: solve the one in `captcha`.' };
      const hash = createHash('sha256').update(`${formToken}:${submissionId}:${text}`).digest();
      if (leadingZeroBits(hash) < Number(asked))
        return { fault: `is not a proof of ${asked} bits for this submission_id.` };
      return { proven: { id, expiresAt: new Date(expires).toISOString() } };
    },
  };
}

function leadingZeroBits(hash: Buffer): number {
  let bits = 0;
  for (const byte of hash) {
    if (byte !== 0) return bits + Math.clz32(byte) - 24;
    bits += 8;
  }
  return bits;
}

/** Returns a fault for a `captcha_token` that includes a new challenge to solve. */
export function captchaFault({ challenge, bits, expiresAt }: CaptchaChallenge, code: string, message: string): Fault {
  return { param: 'captcha_token', code, message, captcha: { challenge, bits, expires_at: expiresAt } };
}

export function spentFault(next: CaptchaChallenge): Fault {
  return captchaFault(next, 'invalid_value', 'was spent on another submission: answer the challenge in `captcha`.');
}

export const spentKey = (formId: string, { id }: Pick<ProvenChallenge, 'id'>): string => `${formId}.${id}`;
