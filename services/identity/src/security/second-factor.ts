import type { Envelope } from '@commonplace/kit/secrets';
import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import { hashedBy, keyedHash } from '../domain/keyed-hash.js';
import { normalizeCode } from '../domain/recovery-codes.js';
import type { PurposeKeys } from '../domain/secrets.js';
import { stepOfCode } from '../domain/totp.js';
import { SecondFactorRequired, WrongCode } from '../errors.js';
import type { SecondFactorRecord } from '../stores/second-factors.js';
import type { Throttle } from '../throttle.js';

const TOTP_CODE = /^\d{6}$/;

/** Dependencies for checking the codes of second factors. */
export interface SecondFactorParts {
  readonly secondFactors: Collection<SecondFactorRecord>;
  readonly codeThrottle: Throttle;
  readonly envelope: Envelope;
  readonly keys: Pick<PurposeKeys, 'oneTimeTokens'>;
  readonly now: () => number;
}

/** A code and the network address that it was sent from. */
interface SubmittedCode {
  readonly code: string;
  readonly clientIp: string;
}

export function secretOwner(userId: string) {
  return { tenant: userId, record: `totp:${userId}` };
}

/** Returns whether a person's sign-in by password requires a second factor. */
export async function hasSecondFactor(
  userId: string,
  { secondFactors }: Pick<SecondFactorParts, 'secondFactors'>,
): Promise<boolean> {
  return (await secondFactors.get(userId))?.totp !== undefined;
}

/**
 * Uses up a code of a person's second factor in a unit of work. Returns whether they have one; does nothing for a
 * person without. Throws `second_factor_required` if no code is given, `wrong_code`, or `rate_limited`.
 */
export async function spendCode(
  userId: string,
  given: SubmittedCode,
  work: UnitOfWork,
  parts: SecondFactorParts,
): Promise<boolean> {
  const record = await work.get(parts.secondFactors, userId);
  if (record?.totp === undefined) return false;
  const code = normalizeCode(given.code);
  if (code === '') throw SecondFactorRequired();
  const after = await parts.codeThrottle.attempt({ email: userId, clientIp: given.clientIp }, async () => {
    const spent = TOTP_CODE.test(code)
      ? withoutTotpCode(record, code, parts)
      : withoutRecoveryCode(record, code, parts);
    if (spent === undefined) throw WrongCode();
    return spent;
  });
  work.replace(parts.secondFactors, record, after);
  return true;
}

function withoutTotpCode(
  record: SecondFactorRecord,
  code: string,
  { envelope, now }: Pick<SecondFactorParts, 'envelope' | 'now'>,
): SecondFactorRecord | undefined {
  const { id, totp } = record;
  if (totp === undefined) return undefined;
  const secret = envelope.open(totp.secret, secretOwner(id));
  const step = stepOfCode(secret, code, totp.lastStep, now());
  return step === undefined ? undefined : { ...record, totp: { ...totp, lastStep: step } };
}

function withoutRecoveryCode(
  record: SecondFactorRecord,
  code: string,
  { keys }: Pick<SecondFactorParts, 'keys'>,
): SecondFactorRecord | undefined {
  const found = record.recoveryCodes.find((hash) => hashedBy(keys.oneTimeTokens, code, hash) >= 0);
  if (found === undefined) return undefined;
  return { ...record, recoveryCodes: record.recoveryCodes.filter((hash) => hash !== found) };
}

/** Returns the keyed hashes of recovery codes, which are stored in their place. */
export function hashCodes(codes: readonly string[], { keys }: Pick<SecondFactorParts, 'keys'>): string[] {
  return codes.map((code) => keyedHash(keys.oneTimeTokens[0] as Buffer, normalizeCode(code)));
}
