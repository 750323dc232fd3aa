import { lazyLibrary } from '@commonplace/kit/library';
import { canonicalTimezone } from '@commonplace/kit/timezone';
import type { JWTPayload } from 'jose';
import type { VerifiedToken } from './verify.js';

const library = lazyLibrary<typeof import('zod')>('zod', import.meta.url);

/** What an issuer states about a person (OpenID Connect Core 1.0, standard claims). */
export interface Profile {
  readonly email?: string;
  readonly emailVerified: boolean;
  readonly name?: string;
  readonly avatarUrl?: string;
  readonly locale?: string;
  readonly timezone?: string;
}

let schema: ReturnType<typeof createSchema> | undefined;

/** Returns the schema of the claims. An invalid claim counts as absent. */
function createSchema() {
  const { z } = library();
  const line = (max: number) => z.string().trim().min(1).max(max).optional().catch(undefined);
  return z.object({
    email: z
      .string()
      .trim()
      .max(320)
      .regex(/^[^\s@]+@[^\s@]+$/)
      .optional()
      .catch(undefined),
    email_verified: z
      .union([z.literal(true), z.literal('true')])
      .optional()
      .catch(undefined),
    name: line(255),
    preferred_username: line(255),
    picture: z
      .url({ protocol: /^https$/ })
      .max(2048)
      .optional()
      .catch(undefined),
    locale: line(35),
    zoneinfo: line(64),
  });
}

/** Returns the profile from the token's claims, or from the issuer's userinfo endpoint if they contain no address. */
export async function profileOf({ claims, provider, token, subject }: VerifiedToken): Promise<Profile> {
  const own = parseProfile(claims);
  if (own.email !== undefined) return own;
  const userInfo = await provider.userInfo(token);
  return userInfo?.sub === subject ? parseProfile(userInfo) : own;
}

export function parseProfile(from: JWTPayload | Record<string, unknown>): Profile {
  schema ??= createSchema();
  const { email, email_verified, name, preferred_username, picture, locale, zoneinfo } = schema.parse(from);
  return {
    ...(email === undefined ? {} : { email }),
    emailVerified: email !== undefined && email_verified !== undefined,
    ...optional('name', name ?? preferred_username),
    ...optional('avatarUrl', picture),
    ...optional('locale', locale),
    ...optional('timezone', zoneinfo === undefined ? undefined : canonicalTimezone(zoneinfo)),
  };
}

function optional<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: string });
}
