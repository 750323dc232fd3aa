import { createHmac, timingSafeEqual } from 'node:crypto';

/** What a signed URL opens: the bytes of one version in one form, or the writing of one upload or part. */
export type Grant =
  | {
      readonly kind: 'get';
      readonly versionId: string;
      readonly inline: boolean;
      /** It was signed for the origin of users' bytes. */
      readonly sandboxed: boolean;
      /** That it is saved under. */
      readonly name: string;
      /** Of a small image instead of the bytes. */
      readonly width?: number;
      /** Epoch seconds. */
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
  /** Undefined for what this key has not signed, or is over. */
  verify(token: string): Grant | undefined;
}

/** Tokens of URLs: claims and their HMAC-SHA-256, both in base64url. */
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
