import { randomBytes } from 'node:crypto';

/** A password that nobody has to remember: 144 random bits. */
export function generatePassword(): string {
  return randomBytes(18).toString('base64url');
}
