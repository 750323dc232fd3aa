import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import { type ApiKey, ApiKeyType, type CreateApiKeyRequest } from '@commonplace/proto/identity/v1/api_key_service.js';
import type { Harness } from './harness.js';

/** A person with an account who is signed in. */
export interface Person {
  readonly id: string;
  readonly session: string;
}

/** Signs somebody up. Sign-up has to be open. */
export async function signUp({ auth, call }: Harness, name: string): Promise<Person> {
  const email = `${name.toLowerCase()}@example.com`;
  const request = { email, name, password: 'long enough', invitationToken: '', clientIp: '', userAgent: '' };
  const { user, session } = await auth.signUp(request, call());
  return { id: user?.id ?? '', session };
}

/** Returns a request for a key, with defaults for what a test does not set. */
export function keyOf(more: Partial<CreateApiKeyRequest> = {}): CreateApiKeyRequest {
  return {
    name: 'Key',
    scopes: ['resource:read'],
    type: ApiKeyType.UNSPECIFIED,
    orgId: undefined,
    workspaceIds: [],
    expiresAt: undefined,
    ipAllowlist: [],
    description: undefined,
    namedFields: undefined,
    ...more,
  };
}

export const everyScope = [...KNOWN_SCOPES];

/** Creates a key with a credential: a cookie or another key. */
export async function makeKey(
  harness: Harness,
  credential: string,
  more: Partial<CreateApiKeyRequest> = {},
): Promise<ApiKey & { key: string }> {
  const { token } = await harness.authenticate(credential);
  const made = await harness.apiKeys.createApiKey(keyOf(more), harness.call(token));
  return { ...made, key: made.key ?? '' };
}
