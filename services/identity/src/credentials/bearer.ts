import { fingerprint } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Homes } from '../homes.js';
import type { Issuer } from '../oidc/issuers.js';
import { joinInvitations, type PeopleParts, personOf } from '../oidc/people.js';
import { scopesOf } from '../oidc/scopes.js';
import { createTokenReader } from '../oidc/verify.js';
import type { Principal } from './principal.js';

/**
 * Creates a reader of identity providers' tokens. A token has the scopes that it names, and is bound to no tenant.
 */
export function createBearerReader(issuers: readonly Issuer[], homes: Homes, parts: PeopleParts) {
  const verify = createTokenReader(issuers, parts.now);
  return async (text: string, context: CallContext): Promise<Principal> => {
    const token = await verify(text);
    const person = await personOf(token, context, parts);
    await homes.ensure(person.user, context.onward);
    await joinInvitations(person, token, context, parts);
    return {
      user: person.user,
      credential: {
        type: 'bearer',
        id: `sub_${fingerprint('bearer', token.issuer.issuer, token.subject).slice(0, 22)}`,
        scopes: scopesOf(token.claims, token.issuer.defaultScopes),
        expiresAt: new Date((token.claims.exp as number) * 1000).toISOString(),
      },
    };
  };
}
