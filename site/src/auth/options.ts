import type { SignInOptions } from '@commonplace/proto/identity/v1/account_security_service.js';
import type { Context } from 'koa';
import { type AuthParts, callOf } from './parts.js';

/** The options that every server has; identity refuses what is not allowed here. */
const DEFAULTS: SignInOptions = { oidc: false, passwordMinLength: 8 };

/**
 * Returns what this server offers for signing in and up. If identity does not answer, these are the defaults, so that
 * pages can still be shown.
 */
export async function optionsOf(ctx: Context, parts: AuthParts): Promise<SignInOptions> {
  const options = await parts.security.getSignInOptions({}, callOf(ctx, parts)).catch(() => DEFAULTS);
  // An identity service of an older version does not tell the length.
  return { ...options, passwordMinLength: options.passwordMinLength || DEFAULTS.passwordMinLength };
}
