import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type { Envelope } from '@commonplace/kit/secrets';
import type {
  AccountSecurityService,
  CompleteOidcSignInRequest,
  CompleteOidcSignInResponse,
} from '@commonplace/proto/identity/v1/account_security_service.js';
import type { Settings } from '../config.js';
import { toUser } from '../domain/user.js';
import { ExpiredChallenge, NoOidc } from '../errors.js';
import type { Homes } from '../homes.js';
import { requireAuthentication } from '../oidc/authentication.js';
import {
  type BrowserClient,
  createBrowserClient,
  FLOW_MS,
  type Flow,
  type OidcTokens,
} from '../oidc/browser-client.js';
import type { Issuer } from '../oidc/issuers.js';
import { joinInvitations, type PeopleParts, personOf } from '../oidc/people.js';
import { createProvider } from '../oidc/provider.js';
import { SKEW_SECONDS, type VerifiedToken } from '../oidc/verify.js';
import type { Sessions } from '../sessions.js';

type Methods = Pick<Handlers<AccountSecurityService>, 'getSignInOptions' | 'beginOidcSignIn' | 'completeOidcSignIn'>;

export interface OidcParts extends PeopleParts {
  readonly settings: Pick<
    Settings,
    'oidcIssuer' | 'oidcClientId' | 'oidcClientSecret' | 'publicUrl' | 'oidcIssuers' | 'signUp' | 'passwordMinLength'
  >;
  readonly envelope: Envelope;
  readonly homes: Homes;
  readonly sessions: Sessions;
}

const FLOW_OWNER = { tenant: 'oidc', record: 'sign-in' };
const CALLBACK = '/auth/oidc/callback';

/** Creates the handlers for browser sign-in with an identity provider. */
export function createOidcHandlers(parts: OidcParts): Methods {
  const { envelope, now, settings } = parts;
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret, publicUrl } = settings;
  const issuedBy = issuerOf(parts);
  const redirectUrl = publicUrl + CALLBACK;
  const client =
    issuer === undefined || clientId === undefined
      ? undefined
      : createBrowserClient({ issuer, clientId, clientSecret, redirectUrl, ...issuedBy.authentication }, now);
  // The provider keeps the issuer's metadata for an hour and its keys for ten minutes, so it is one for all sign-ins.
  const provider = createProvider(issuedBy.issuer, now);
  const requireClient = (): BrowserClient => {
    if (client === undefined) throw NoOidc();
    return client;
  };

  return {
    async getSignInOptions() {
      return { oidc: client !== undefined, passwordMinLength: settings.passwordMinLength };
    },

    async beginOidcSignIn({ next }) {
      const { url, flow } = await requireClient().begin(next);
      const expiresAt = new Date(now() + FLOW_MS).toISOString();
      return { url, flow: envelope.seal(JSON.stringify(flow), FLOW_OWNER), expiresAt };
    },

    async completeOidcSignIn(request, context) {
      const flow = openFlow(request.flow, parts);
      const tokens = await requireClient().complete(request.query, flow);
      requireAuthentication(tokens.claims, issuedBy.authentication, { now: now(), skewSeconds: SKEW_SECONDS });
      return signIn(tokens, flow, request, context, { ...parts, issuer: issuedBy, provider });
    },
  };
}

function openFlow(sealed: string, { envelope, now }: OidcParts): Flow {
  let flow: Flow;
  try {
    flow = JSON.parse(envelope.open(sealed, FLOW_OWNER)) as Flow;
  } catch (cause) {
    throw ExpiredChallenge({}, { cause });
  }
  if (flow.expires <= now()) throw ExpiredChallenge();
  return flow;
}

async function signIn(
  { accessToken, claims }: OidcTokens,
  { next }: Flow,
  origin: CompleteOidcSignInRequest,
  context: CallContext,
  { issuer, provider, ...parts }: OidcParts & Pick<VerifiedToken, 'issuer' | 'provider'>,
): Promise<CompleteOidcSignInResponse> {
  const token: VerifiedToken = { issuer, provider, token: accessToken, subject: claims.sub, claims };
  const person = await personOf(token, context, parts);
  await parts.homes.ensure(person.user, context.onward);
  await joinInvitations(person, token, context, parts);
  const { cookie, csrfToken, record } = await parts.sessions.start(
    person.user,
    origin,
    { method: 'oidc', strong: true },
    context,
  );
  const user = toUser(person.user);
  return { signIn: { user, session: cookie, csrfToken, expiresAt: record.expiresAt, secondFactor: undefined }, next };
}

/**
 * Returns the permissions of the identity provider: its entry in the list of issuers, or else it may create
 * accounts only if sign-up is open.
 */
function issuerOf({ settings }: OidcParts): Issuer {
  const issuer = settings.oidcIssuer ?? '';
  const listed = settings.oidcIssuers.find((one) => one.issuer === issuer);
  if (listed !== undefined) return listed;
  const createUsers = settings.signUp === 'open';
  return {
    issuer,
    audiences: [],
    defaultScopes: [],
    createUsers,
    emailDomains: [],
    linkAccounts: false,
    authentication: { acrValues: [], amrValues: [] },
    idTokens: false,
    typedTokens: false,
  };
}
