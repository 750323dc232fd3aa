import type { Settings } from '../config.js';
import { OAUTH_TYPES, type OAuthSystem, type OAuthType } from '../domain/oauth-types.js';

/** An OAuth client that the operator has registered, with the endpoints of its system. */
export interface OAuthClient extends OAuthSystem {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Returns the client for a type of connector; undefined if none is registered, or the type does not use OAuth. */
export function clientFor(settings: Settings, type: string): OAuthClient | undefined {
  if (!Object.hasOwn(OAUTH_TYPES, type)) return undefined;
  const key = type as OAuthType;
  const clientId = settings[`${key}_id`];
  if (clientId === undefined) return undefined;
  const system: OAuthSystem = OAUTH_TYPES[key];
  const authorizeUrl = settings[`${key}_authorizeUrl`];
  const ownIssuer = authorizeUrl === undefined ? system.issuer : undefined;
  const revokeUrl = settings[`${key}_revokeUrl`] ?? system.revokeUrl;
  const { revokeUrl: _, ...rest } = system;
  return {
    ...rest,
    clientId,
    clientSecret: settings[`${key}_secret`] ?? '',
    issuer: settings[`${key}_issuer`] ?? ownIssuer ?? new URL(authorizeUrl ?? system.authorizeUrl).origin,
    authorizeUrl: authorizeUrl ?? system.authorizeUrl,
    tokenUrl: settings[`${key}_tokenUrl`] ?? system.tokenUrl,
    ...(revokeUrl === undefined ? {} : { revokeUrl }),
    scopes: settings[`${key}_scopes`] ?? system.scopes,
  };
}
