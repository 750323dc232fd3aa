import { valuesByName } from '@commonplace/platform/enums';
import { type ApiKey, ApiKeyStatus, ApiKeyType } from '@commonplace/proto/identity/v1/api_key_service.js';
import { type ApiKeyRecord, type KeyStatus, statusOf } from '../stores/api-keys.js';

const STATUSES: Record<KeyStatus, ApiKeyStatus> = valuesByName(ApiKeyStatus);

/** Returns the status that a list is filtered by; undefined for none. */
export function keyStatusOf(status: ApiKeyStatus): KeyStatus | undefined {
  return (Object.keys(STATUSES) as KeyStatus[]).find((name) => STATUSES[name] === status);
}

/** Returns a key for the API, without its secret. */
export function toApiKey(key: ApiKeyRecord, actingUserName: string, now: string): ApiKey {
  return {
    id: key.id,
    name: key.name,
    description: key.description,
    type: key.type === 'org' ? ApiKeyType.ORG : ApiKeyType.PERSONAL,
    orgId: key.orgId,
    scopes: [...key.scopes],
    workspaceIds: key.workspaceIds === undefined ? undefined : { values: [...key.workspaceIds] },
    keyPrefix: key.prefix,
    last4: key.last4,
    actingUser: { id: key.actingUserId, name: actingUserName },
    status: STATUSES[statusOf(key, now)],
    lastUsedAt: key.lastUsedAt,
    lastUsedIp: key.lastUsedIp,
    expiresAt: key.expiresAt,
    createdAt: key.createdAt,
    ipAllowlist: [...key.ipAllowlist],
    key: undefined,
    formerKeyExpiresAt: key.former?.expiresAt,
  };
}
