import { isKnownScope } from '@commonplace/kit/auth';
import { lazyLibrary } from '@commonplace/kit/library';
import { isLoopback } from '@commonplace/kit/network';

const library = lazyLibrary<typeof import('zod')>('zod', import.meta.url);

/** An identity provider whose tokens are accepted. */
export interface Issuer {
  /** The exact value of `iss`. */
  readonly issuer: string;
  /** Accepted audiences: `aud` of a token has to contain one of them. */
  readonly audiences: readonly string[];
  /** Scopes of a token that names none. */
  readonly defaultScopes: readonly string[];
  /** Whether the first sign-in of a person creates an account. */
  readonly createUsers: boolean;
  /** Domains for which accounts may be created or linked by a verified address; empty for any. */
  readonly emailDomains: readonly string[];
  /** How the issuer must have authenticated a person. */
  readonly authentication: RequiredAuthentication;
  /** Whether its ID tokens are accepted as bearer tokens. */
  readonly idTokens: boolean;
  /** Whether bearer tokens have to say that they are access tokens (`typ: at+jwt`, RFC 9068). */
  readonly typedTokens: boolean;
  /** Whether an address that it verifies may also be linked to an account whose own address is not verified. */
  readonly linkAccounts: boolean;
}

/** Claims about how and when the person authenticated that a token must contain (OpenID Connect Core 1.0, RFC 9068). */
export interface RequiredAuthentication {
  /** `acr` has to be one of these; empty for any. */
  readonly acrValues: readonly string[];
  /** `amr` has to contain one of these; empty for any. */
  readonly amrValues: readonly string[];
  /** Maximum number of seconds since `auth_time`. */
  readonly maxAgeSeconds?: number;
}

const MAX_AGE_MINUTES = 365 * 24 * 60;

function entries() {
  const { z } = library();
  const strings = z.array(z.string().min(1));
  const entry = z.strictObject({
    issuer: z.string().refine(isAllowedUrl, 'must be an https URL, or http on a loopback address'),
    audience: z.union([z.string().min(1), strings.min(1)]),
    default_scopes: z.array(z.string().refine(isKnownScope, 'is not a known scope')).default([]),
    create_users: z.boolean().default(false),
    email_domains: strings.default([]),
    link_accounts: z.boolean().default(false),
    acr_values: strings.default([]),
    amr_values: strings.default([]),
    max_age_minutes: z.int().min(1).max(MAX_AGE_MINUTES).optional(),
    id_tokens: z.boolean().default(false),
    typed_tokens: z.boolean().default(false),
  });
  return z.array(entry);
}

/**
 * Parses `COMMONPLACE_OIDC_ISSUERS`: a JSON list, or comma-separated `issuer|audience` pairs. Throws if it is
 * invalid.
 */
export function parseIssuers(text: string): readonly Issuer[] {
  const given = text.trimStart().startsWith('[') ? parseJson(text) : text.split(',').map(parsePair);
  const parsed = entries().safeParse(given);
  if (!parsed.success) {
    throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
  }
  const issuers = parsed.data.map((one) => ({
    issuer: one.issuer,
    audiences: typeof one.audience === 'string' ? [one.audience] : one.audience,
    defaultScopes: one.default_scopes,
    createUsers: one.create_users,
    emailDomains: one.email_domains.map((domain) => domain.toLowerCase()),
    linkAccounts: one.link_accounts,
    authentication: {
      acrValues: one.acr_values,
      amrValues: one.amr_values,
      ...(one.max_age_minutes === undefined ? {} : { maxAgeSeconds: one.max_age_minutes * 60 }),
    },
    idTokens: one.id_tokens,
    typedTokens: one.typed_tokens,
  }));
  if (new Set(issuers.map(({ issuer }) => issuer)).size < issuers.length) throw new Error('names an issuer twice');
  return issuers;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('is neither JSON nor a list of issuer|audience');
  }
}

function parsePair(pair: string): unknown {
  const [issuer = '', audience = ''] = pair.trim().split('|');
  return { issuer, audience };
}

/** Parses the URL of an issuer. Throws unless it is https, or http on a loopback address. */
export function parseIssuerUrl(text: string): string {
  if (!isAllowedUrl(text)) throw new Error('must be an https URL, or http on a loopback address');
  return text;
}

/** Returns whether a URL may be fetched: over https, or over http on a loopback address. */
export function isAllowedUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}
