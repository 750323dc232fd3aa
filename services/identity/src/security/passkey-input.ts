import { invalidField } from '@commonplace/kit/errors';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';

const CLIENT_DATA = z.object({ challenge: z.string() });

/** Returns the challenge that the data of a browser answers; empty if it has none. */
export function challengeIn(clientDataJSON: string): string {
  try {
    return CLIENT_DATA.parse(JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'))).challenge;
  } catch {
    return '';
  }
}

const BASE64URL = z.string().regex(/^[A-Za-z0-9_-]+$/);
/** Maximum of 1023 bytes (WebAuthn), in base64url. */
const CREDENTIAL_ID = BASE64URL.max(1364);
const CREDENTIAL = {
  id: CREDENTIAL_ID,
  rawId: CREDENTIAL_ID,
  type: z.literal('public-key'),
  clientExtensionResults: z.object({}).default({}),
};
const REGISTRATION = z.object({
  ...CREDENTIAL,
  response: z.object({
    clientDataJSON: BASE64URL,
    attestationObject: BASE64URL,
    transports: z.array(z.string().max(32)).max(16).optional(),
  }),
});
const AUTHENTICATION = z.object({
  ...CREDENTIAL,
  response: z.object({
    clientDataJSON: BASE64URL,
    authenticatorData: BASE64URL,
    signature: BASE64URL,
    userHandle: BASE64URL.max(128)
      .nullish()
      .transform((handle) => handle ?? undefined),
  }),
});

/** Parses a browser's response to a passkey registration. Throws `invalid_value` at `credential`. */
export function parseRegistration(credential: string): RegistrationResponseJSON {
  return parse(REGISTRATION, credential) as RegistrationResponseJSON;
}

/** Parses a browser's response to a passkey sign-in. Throws `invalid_value` at `credential`. */
export function parseAuthentication(credential: string): AuthenticationResponseJSON {
  return parse(AUTHENTICATION, credential) as AuthenticationResponseJSON;
}

function parse(schema: z.ZodType, credential: string): unknown {
  try {
    return schema.parse(JSON.parse(credential));
  } catch (cause) {
    const what = cause instanceof z.ZodError ? ` (${cause.issues[0]?.path.join('.')})` : '';
    throw invalidField('credential', 'invalid_value', `credential is not a browser's response for a passkey${what}.`);
  }
}
