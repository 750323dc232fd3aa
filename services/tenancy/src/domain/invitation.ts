import { createHash, randomBytes } from 'node:crypto';

/** Returns an unguessable token of 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the SHA-256 of a token, which is stored in its place. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** Returns the URL at which a person accepts an invitation. */
export function inviteUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/auth/sign-up?invite=${token}`;
}
