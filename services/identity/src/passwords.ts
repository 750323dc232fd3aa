import { randomBytes } from 'node:crypto';

/** Returns a random password of 144 bits. */
export function generatePassword(): string {
  return randomBytes(18).toString('base64url');
}
