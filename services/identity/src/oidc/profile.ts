import type { JWTPayload } from 'jose';
import { z } from 'zod';
import type { VerifiedToken } from './verify.js';

/** What an issuer tells of a person (OpenID Connect Core 1.0, standard claims). */
export interface Profile {
  readonly email?: string;
  readonly emailVerified: boolean;
  readonly name?: string;
  readonly avatarUrl?: string;
  readonly locale?: string;
  readonly timezone?: string;
}

/** A claim that is not what it should be counts as absent. */
const line = (max: number) => z.string().trim().min(1).max(max).optional().catch(undefined);
const claims = z.object({
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

/** The token's own claims, and where they name no address, those that the issuer tells of its bearer. */
export async function profileOf({ claims, provider, token, subject }: VerifiedToken): Promise<Profile> {
  const own = parseProfile(claims);
  if (own.email !== undefined) return own;
  const told = await provider.userInfo(token);
  return told?.sub === subject ? parseProfile(told) : own;
}

export function parseProfile(from: JWTPayload | Record<string, unknown>): Profile {
  const { email, email_verified, name, preferred_username, picture, locale, zoneinfo } = claims.parse(from);
  return {
    ...(email === undefined ? {} : { email }),
    emailVerified: email !== undefined && email_verified !== undefined,
    ...optional('name', name ?? preferred_username),
    ...optional('avatarUrl', picture),
    ...optional('locale', locale),
    ...optional('timezone', zoneinfo !== undefined && isTimezone(zoneinfo) ? zoneinfo : undefined),
  };
}

function optional<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: string });
}

function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
