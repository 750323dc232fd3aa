import { newId } from '@commonplace/kit/id';
import { type KeyType, mintKey } from '../domain/key-format.js';
import { keyedHash } from '../domain/keyed-hash.js';
import type { ApiKeyRecord } from '../stores/api-keys.js';

/** The validated properties of a new key. */
export interface KeyDraft {
  /** The id of the Org, or of the person's default Personal workspace. */
  readonly tenant: string;
  readonly type: KeyType;
  readonly orgId?: string;
  readonly actingUserId: string;
  readonly name: string;
  readonly description?: string;
  readonly scopes: readonly string[];
  readonly workspaceIds?: readonly string[];
  readonly ipAllowlist?: readonly string[];
  readonly expiresAt?: string;
}

/** Returns a new key's record and the key itself, which is stored nowhere. The first pepper is the current one. */
export function newApiKey(
  draft: KeyDraft,
  peppers: readonly Buffer[],
  now: number,
): { record: Omit<ApiKeyRecord, 'version'>; secret: string } {
  const { publicId, secret, prefix, last4, key } = mintKey(draft.type);
  const record = {
    id: newId(),
    ipAllowlist: [],
    ...draft,
    publicId,
    secretHash: keyedHash(peppers[0] as Buffer, secret),
    prefix,
    last4,
    state: 'active' as const,
    createdAt: new Date(now).toISOString(),
  };
  return { record, secret: key };
}
