import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';

const ISSUER = 'Commonplace';
const STEP_SECONDS = 30;
/** Number of steps before and after the current one whose codes are accepted, to allow for clock differences. */
const WINDOW = 1;
const SECRET_BYTES = 20;

/** Uses the defaults of RFC 6238, since many apps support nothing else. */
function totpOf(secret: string, label: string): TOTP {
  return new TOTP({
    issuer: ISSUER,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: STEP_SECONDS,
    secret: Secret.fromBase32(secret),
  });
}

/** Returns a new secret in base32. */
export function newTotpSecret(): string {
  return new Secret({ buffer: Uint8Array.from(randomBytes(SECRET_BYTES)).buffer }).base32;
}

/** Returns the URI that an app reads from a QR code. */
export function totpUri(secret: string, email: string): string {
  return totpOf(secret, email).toString();
}

/** Returns the time step of a code; undefined if the code is wrong, or its step is not after `lastStep`. */
export function stepOfCode(secret: string, code: string, lastStep: number, now: number): number | undefined {
  const delta = totpOf(secret, '').validate({ token: code, timestamp: now, window: WINDOW });
  if (delta === null) return undefined;
  const step = Math.floor(now / 1000 / STEP_SECONDS) + delta;
  return step > lastStep ? step : undefined;
}
