import { defineSettings, list, oneOf, type Setting, text, type Values, wholeNumber } from '@commonplace/kit/config';
import { SECRETS_KEY } from '@commonplace/kit/secrets';
import { MAIL_SETTINGS } from '@commonplace/platform/mail';
import { OUTGOING_SETTINGS } from '@commonplace/platform/settings';
import { OAUTH_TYPES, type OAuthSystem, type OAuthType, parseEndpoint } from './domain/oauth-types.js';

export const config = defineSettings({
  ...OUTGOING_SETTINGS,
  orgMembers: wholeNumber(10_000, [1, 1_000_000], 'maximum members of one Org, open invitations included'),
  orgGroups: wholeNumber(1000, [1, 100_000], 'maximum groups of one Org'),
  orgGroupMembers: wholeNumber(5000, [1, 1_000_000], 'maximum members of one group of an Org'),
  groupsOfPerson: wholeNumber(100, [1, 1000], 'maximum groups of an Org that one person is in'),
  invitationMails: wholeNumber(
    100,
    [1, 1_000_000],
    'maximum invitations per hour that are e-mailed for one person; further ones have only their link',
  ),
  invitationMailsPerAddress: wholeNumber(
    5,
    [1, 1_000_000],
    'maximum invitations per hour that are e-mailed to one address; further ones have only their link',
  ),
  orgRetentionDays: wholeNumber(30, [0, 3650], 'days that a deleted Org is kept and can be restored'),
  credits: {
    help: 'whose credits are limited: `granted`, tenants that have received a grant; `metered`, all',
    parse: oneOf('granted', 'metered'),
    fallback: 'granted',
  },
  secretsKey: SECRETS_KEY,
  ...MAIL_SETTINGS,
  ...clientTable(),
});

/**
 * Settings keys of the OAuth client that the operator registered at an external system. Without an id there is no
 * client.
 */
type ClientKey = `${OAuthType}_${'id' | 'secret' | 'issuer' | 'authorizeUrl' | 'tokenUrl' | 'revokeUrl' | 'scopes'}`;

function clientTable(): Record<Exclude<ClientKey, `${string}_scopes`>, Setting<string | undefined>> &
  Record<Extract<ClientKey, `${string}_scopes`>, Setting<string[] | undefined>> {
  const table: Record<string, Setting<unknown>> = {};
  for (const [type, system] of Object.entries<OAuthSystem>(OAUTH_TYPES)) {
    const { name, issuer, authorizeUrl, tokenUrl, revokeUrl, scopes } = system;
    const add = (key: string, suffix: string, help: string, parse: Setting<unknown>['parse'], secret = false) => {
      const variable = `COMMONPLACE_CONNECTOR_${type.toUpperCase()}_${suffix}`;
      table[`${type}_${key}`] = { variable, help, parse, fallback: undefined, ...(secret && { secret }) };
    };
    add(
      'id',
      'CLIENT_ID',
      `id of the OAuth client registered at ${name}, through which people connect their accounts`,
      text,
    );
    add('secret', 'CLIENT_SECRET', 'its secret', text, true);
    add(
      'issuer',
      'ISSUER',
      `issuer in its redirects and identity tokens, instead of ${issuer ?? new URL(authorizeUrl).origin}, or of the origin of an AUTHORIZE_URL`,
      parseEndpoint,
    );
    add('authorizeUrl', 'AUTHORIZE_URL', `instead of ${authorizeUrl}`, parseEndpoint);
    add('tokenUrl', 'TOKEN_URL', `instead of ${tokenUrl}`, parseEndpoint);
    add(
      'revokeUrl',
      'REVOKE_URL',
      revokeUrl === undefined ? 'URL that revokes grants' : `instead of ${revokeUrl}`,
      parseEndpoint,
    );
    add('scopes', 'SCOPES', `instead of ${scopes.join(',') || 'none'}`, list);
  }
  return table as never;
}

export type Settings = Values<typeof config>;

export const DAY_MS = 24 * 3600 * 1000;
/** Milliseconds for which an invitation can be accepted. */
export const INVITATION_MS = 14 * DAY_MS;
/** Milliseconds that a response waits for counts from another service. */
export const COUNTS_MS = 2000;
/** Maximum number of connectors in one workspace. */
export const MAX_CONNECTORS_PER_WORKSPACE = 100;
/** Milliseconds for which a link to authorize access is valid. */
export const AUTHORIZATION_MS = 10 * 60 * 1000;
/** Milliseconds that an external system may take to respond. */
export const UPSTREAM_MS = 8000;
/** Milliseconds that the revocations of one deletion may take together: the request has to be answered in time. */
export const REVOCATIONS_MS = 8000;
/** Maximum number of pins in one list. */
export const MAX_PINS_PER_LIST = 50;
