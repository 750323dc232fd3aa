import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Describes what a signed URL permits: reading the bytes of one version in one form or of one archive, or writing one
 * upload or part.
 */
export type Grant =
  | {
      readonly kind: 'get';
      readonly versionId: string;
      readonly inline: boolean;
      /** Whether the URL was signed for the origin that is reserved for users' bytes. */
      readonly sandboxed: boolean;
      /** File name for saving. */
      readonly name: string;
      /** Width in pixels of a thumbnail, which is sent instead of the bytes. */
      readonly width?: number;
      /** Expiry in epoch seconds. */
      readonly expires: number;
    }
  | {
      readonly kind: 'archive';
      readonly archiveId: string;
      readonly name: string;
      readonly expires: number;
    }
  | { readonly kind: 'put'; readonly uploadId: string; readonly part?: number; readonly expires: number };

export interface Tokens {
  sign(grant: Grant): string;
  /** Returns the claims of a token, or undefined when this key has not signed it or it has expired. */
  verify(token: string): Grant | undefined;
}

/** Creates tokens for URLs: claims and their HMAC-SHA-256, both in base64url. */
export function createTokens(key: Buffer, now: () => number = Date.now): Tokens {
  const macOf = (claims: string) => createHmac('sha256', key).update(claims).digest();
  return {
    sign(grant) {
      const claims = Buffer.from(JSON.stringify(grant)).toString('base64url');
      return `${claims}.${macOf(claims).toString('base64url')}`;
    },
    verify(token) {
      const [claims = '', mac = '', ...rest] = token.split('.');
      const given = Buffer.from(mac, 'base64url');
      const right = macOf(claims);
      if (rest.length > 0 || given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
      const grant = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Grant;
      return grant.expires * 1000 > now() ? grant : undefined;
    },
  };
}
