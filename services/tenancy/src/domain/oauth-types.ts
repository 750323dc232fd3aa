import { shaped } from '@commonplace/kit/config';
import { isLoopback } from '@commonplace/kit/network';

/**
 * An external system at which the operator registers an OAuth client by hand. The values follow its documentation.
 */
export interface OAuthSystem {
  readonly name: string;
  /**
   * The name of the system in redirects (RFC 9207) and identity tokens. Without one it is the origin of the
   * authorization URL.
   */
  readonly issuer?: string;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** The endpoint that revokes tokens (RFC 7009); absent if the system has none. */
  readonly revokeUrl?: string;
  readonly scopes: readonly string[];
  /** How the client authenticates at the token endpoint. */
  readonly clientAuth: 'basic' | 'post';
  /** Additional query parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The connector types for which people connect an account through OAuth. */
export const OAUTH_TYPES = {
  google_drive: {
    name: 'Google',
    authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    revokeUrl: 'https://oauth2.googleapis.com/revoke',
    scopes: ['openid', 'email', 'https://www.googleapis.com/auth/drive.readonly'],
    clientAuth: 'post',
    parameters: { access_type: 'offline', prompt: 'consent' },
  },
  notion: {
    name: 'Notion',
    authorizeUrl: 'https://api.notion.com/v1/oauth/authorize',
    tokenUrl: 'https://api.notion.com/v1/oauth/token',
    scopes: [],
    clientAuth: 'basic',
    parameters: { owner: 'user' },
  },
  confluence: {
    name: 'Atlassian',
    authorizeUrl: 'https://auth.atlassian.com/authorize',
    tokenUrl: 'https://auth.atlassian.com/oauth/token',
    scopes: ['read:confluence-content.all', 'offline_access'],
    clientAuth: 'post',
    parameters: { audience: 'api.atlassian.com', prompt: 'consent' },
  },
  github: {
    name: 'GitHub',
    issuer: 'https://github.com/login/oauth',
    authorizeUrl: 'https://github.com/login/oauth/authorize',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    scopes: ['repo', 'read:user'],
    clientAuth: 'post',
    parameters: {},
  },
  slack: {
    name: 'Slack',
    authorizeUrl: 'https://slack.com/oauth/v2/authorize',
    tokenUrl: 'https://slack.com/api/oauth.v2.access',
    scopes: ['channels:history', 'channels:read'],
    clientAuth: 'post',
    parameters: {},
  },
} as const satisfies Record<string, OAuthSystem>;

export type OAuthType = keyof typeof OAUTH_TYPES;

/** Parses an endpoint that the operator configures. Throws unless it is https, or http on a loopback address. */
export const parseEndpoint = shaped(
  { kind: 'url', schemes: ['https', 'http'], plainOnLoopback: true },
  (text: string): string => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== 'https:' && !(url?.protocol === 'http:' && isLoopback(url.hostname))) {
      throw new Error('must be an https URL, or http on a loopback address');
    }
    return text;
  },
);
