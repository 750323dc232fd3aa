import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import { type ApiKey, ApiKeyType, type CreateApiKeyRequest } from '@commonplace/proto/identity/v1/api_key_service.js';
import type { Harness } from './harness.js';

/** Somebody with an account who is signed in. */
export interface Person {
  readonly id: string;
  readonly session: string;
}

/** Signs somebody up; the service has to be open for it. */
export async function signUp({ auth, call }: Harness, name: string): Promise<Person> {
  const email = `${name.toLowerCase()}@example.com`;
  const request = { email, name, password: 'long enough', invitationToken: '', clientIp: '' };
  const { user, session } = await auth.signUp(request, call());
  return { id: user?.id ?? '', session };
}

/** A request for a key, with everything that a test does not care about. */
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
    ...more,
  };
}

export const everyScope = [...KNOWN_SCOPES];

/** Makes a key with a credential: a cookie or another key. */
export async function makeKey(
  harness: Harness,
  credential: string,
  more: Partial<CreateApiKeyRequest> = {},
): Promise<ApiKey & { key: string }> {
  const { token } = await harness.authenticate(credential);
  const made = await harness.apiKeys.createApiKey(keyOf(more), harness.call(token));
  return { ...made, key: made.key ?? '' };
}
