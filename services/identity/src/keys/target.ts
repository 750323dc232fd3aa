import type { Caller } from '@commonplace/kit/auth';
import { invalidField } from '@commonplace/kit/errors';
import { ApiKeyType } from '@commonplace/proto/identity/v1/api_key_service.js';

/** The fields of a request that select the tenant of keys. */
interface TenantFields {
  readonly type: ApiKeyType;
  readonly orgId?: string | undefined;
}

/**
 * Returns the Org of a requested key, or null for a Personal one. It defaults to the credential's tenant. Throws if
 * the fields contradict each other.
 */
export function targetOf({ type, orgId }: TenantFields, caller: Caller): string | null {
  refuseContradiction({ type, orgId });
  if (orgId !== undefined) return orgId;
  const bound = caller.tenant?.orgId ?? null;
  if (type === ApiKeyType.PERSONAL) return null;
  if (type === ApiKeyType.ORG && bound === null) {
    throw invalidField('org_id', 'missing_field', 'is required for a key of an Org.');
  }
  return bound;
}

export function refuseContradiction({ type, orgId }: TenantFields): void {
  if (type === ApiKeyType.PERSONAL && orgId !== undefined) {
    throw invalidField('org_id', 'invalid_value', 'must not be sent for a Personal key, which belongs to no Org.');
  }
}
