import { newId } from '@commonplace/kit/id';
import { foldName } from '@commonplace/kit/words';
import { mintKey } from '../domain/key-format.js';
import { keyedHash } from '../domain/keyed-hash.js';
import type { ApiKeyRecord } from '../stores/api-keys.js';

/** The validated properties of a new key. */
export type KeyDraft = Partial<Pick<ApiKeyRecord, 'ipAllowlist'>> &
  Pick<
    ApiKeyRecord,
    'tenant' | 'type' | 'orgId' | 'actingUserId' | 'name' | 'description' | 'scopes' | 'workspaceIds' | 'expiresAt'
  >;

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
    nameFold: foldName(draft.name),
    publicId,
    secretHash: keyedHash(peppers[0] as Buffer, secret),
    prefix,
    last4,
    state: 'active' as const,
    createdAt: new Date(now).toISOString(),
  };
  return { record, secret: key };
}

const HOUR_MS = 3_600_000;

/**
 * Returns a key's record with a new secret, and the new key itself, which is stored nowhere. The replaced secret works
 * for `formerHours` more, at most as long as the key.
 */
export function rotatedApiKey(
  key: ApiKeyRecord,
  peppers: readonly Buffer[],
  { formerHours, now }: { readonly formerHours: number; readonly now: number },
): { record: ApiKeyRecord; secret: string } {
  const { secret, last4, key: text } = mintKey(key.type, key.publicId);
  const until = new Date(now + formerHours * HOUR_MS).toISOString();
  const expiresAt = key.expiresAt !== undefined && key.expiresAt < until ? key.expiresAt : until;
  const former = { secretHash: key.secretHash, expiresAt };
  return { record: { ...key, secretHash: keyedHash(peppers[0] as Buffer, secret), last4, former }, secret: text };
}
