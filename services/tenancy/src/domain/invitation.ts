import { createHash, randomBytes } from 'node:crypto';

/** A token that nobody can guess: 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** What is kept of a token; it can't be turned back. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** Where a person accepts an invitation. */
export function inviteUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/auth/sign-up?invite=${token}`;
}
