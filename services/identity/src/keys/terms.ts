import { isKnownScope } from '@commonplace/kit/auth';
import { type Fault, invalidFields } from '@commonplace/kit/errors';
import type { CreateApiKeyRequest } from '@commonplace/proto/identity/v1/api_key_service.js';
import { isNetworkWithin, parseNetwork } from '../domain/networks.js';
import { ScopeEscalation } from '../errors.js';
import type { ApiKeyRecord } from '../stores/api-keys.js';

const DAY_MS = 86_400_000;

/** What a key may do, from where and until when. */
export interface KeyTerms {
  readonly scopes: readonly string[];
  readonly ipAllowlist: readonly string[];
  readonly expiresAt?: string;
}

/** Which bounds a new key has to keep. */
export interface Bounds {
  /** The key that makes this one, if it is a key that does. */
  readonly creator: ApiKeyRecord | undefined;
  /** The Org's rule on how long its keys last. */
  readonly maxLifetimeDays: number | undefined;
  readonly now: number;
}

/** The terms as asked for. Every fault at once. */
export function readTerms(request: CreateApiKeyRequest, { maxLifetimeDays, now }: Bounds): KeyTerms {
  const faults: Fault[] = [];
  const scopes = [...new Set(request.scopes)];
  request.scopes.forEach((scope, at) => {
    if (!isKnownScope(scope)) faults.push(fault(`scopes[${at}]`, 'invalid_scope', `There is no scope ${scope}.`));
  });
  const ipAllowlist = request.ipAllowlist.flatMap((text, at) => {
    try {
      return [parseNetwork(text)];
    } catch {
      faults.push(fault(`ip_allowlist[${at}]`, 'invalid_value', 'This is no network in CIDR notation.'));
      return [];
    }
  });
  const { expiresAt } = request;
  const latest = maxLifetimeDays === undefined ? Number.POSITIVE_INFINITY : now + maxLifetimeDays * DAY_MS;
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now) {
    faults.push(fault('expires_at', 'invalid_value', 'A key ends in the future.'));
  }
  if (expiresAt !== undefined && Date.parse(expiresAt) > latest) {
    faults.push(fault('expires_at', 'invalid_value', `Keys of this Org last ${maxLifetimeDays} days at most.`));
  }
  if (faults.length > 0) throw invalidFields(faults);
  return { scopes, ipAllowlist: [...new Set(ipAllowlist)], ...(expiresAt === undefined ? {} : { expiresAt }) };
}

function fault(param: string, code: string, message: string): Fault {
  return { param, code, message };
}

/** A credential grants no scope that it does not have; what no credential has is another fault. */
export function refuseMoreScopes(asked: readonly string[], held: readonly string[]): void {
  const missing = asked.filter((scope) => isKnownScope(scope) && !held.includes(scope));
  if (missing.length > 0) throw ScopeEscalation({ missing_scopes: [...new Set(missing)] });
}

/**
 * A key that is made by a key lasts no longer, and is used from nowhere else, than the one that made
 * it: what is not asked for is inherited. A key of an Org with a longest life has that life.
 */
export function boundTerms(terms: KeyTerms, { creator, maxLifetimeDays, now }: Bounds): KeyTerms {
  const { ipAllowlist = [], expiresAt: creatorEnds } = creator ?? {};
  if (creatorEnds !== undefined && terms.expiresAt !== undefined && terms.expiresAt > creatorEnds) {
    throw ScopeEscalation({ param: 'expires_at' });
  }
  if (ipAllowlist.length > 0 && !terms.ipAllowlist.every((network) => isNetworkWithin(network, ipAllowlist))) {
    throw ScopeEscalation({ param: 'ip_allowlist' });
  }
  const longest = maxLifetimeDays === undefined ? undefined : new Date(now + maxLifetimeDays * DAY_MS).toISOString();
  const expiresAt = terms.expiresAt ?? earlier(creatorEnds, longest);
  return {
    scopes: terms.scopes,
    ipAllowlist: terms.ipAllowlist.length > 0 ? terms.ipAllowlist : ipAllowlist,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

function earlier(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one < other ? one : other;
}
