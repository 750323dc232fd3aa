import { isKnownScope } from '@commonplace/kit/auth';
import { type AppError, type Fault, invalidFields } from '@commonplace/kit/errors';
import type { CreateApiKeyRequest } from '@commonplace/proto/identity/v1/api_key_service.js';
import { isNetworkWithin, parseNetwork } from '../domain/networks.js';
import { ScopeEscalation } from '../errors.js';
import type { ApiKeyRecord } from '../stores/api-keys.js';

const DAY_MS = 86_400_000;

/** The scopes, networks and expiry of a key. */
interface KeyTerms {
  readonly scopes: readonly string[];
  readonly ipAllowlist: readonly string[];
  readonly expiresAt?: string;
}

/** The terms that a request asks for. */
interface RequestedTerms extends KeyTerms {
  /** Whether the request asks for a key that never expires. */
  readonly isEndless: boolean;
}

/** The limits that apply to a new key. */
interface Bounds {
  /** The key that creates this one; undefined for other credentials. */
  readonly creator: ApiKeyRecord | undefined;
  /** Maximum lifetime of keys in days, as set by the Org or the operator. */
  readonly maxLifetimeDays: number | undefined;
  /** Default lifetime in days if a request names none; 0 for no expiry. */
  readonly lifetimeDays: number;
  readonly now: number;
}

/** Returns the requested terms, validated. Throws one error that lists every fault. */
export function readTerms(request: CreateApiKeyRequest, { maxLifetimeDays, now }: Bounds): RequestedTerms {
  const faults: Fault[] = [];
  const scopes = [...new Set(request.scopes)];
  request.scopes.forEach((scope, at) => {
    if (!isKnownScope(scope)) faults.push(fault(`scopes[${at}]`, 'invalid_scope', `There is no scope ${scope}.`));
  });
  const ipAllowlist = request.ipAllowlist.flatMap((text, at) => {
    try {
      return [parseNetwork(text)];
    } catch {
      faults.push(fault(`ip_allowlist[${at}]`, 'invalid_value', 'must be a network in CIDR notation.'));
      return [];
    }
  });
  const { expiresAt } = request;
  const latest = maxLifetimeDays === undefined ? Number.POSITIVE_INFINITY : now + maxLifetimeDays * DAY_MS;
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now) {
    faults.push(fault('expires_at', 'invalid_value', 'must be in the future.'));
  }
  if (expiresAt !== undefined && Date.parse(expiresAt) > latest) {
    faults.push(fault('expires_at', 'invalid_value', `A key is valid for at most ${maxLifetimeDays} days.`));
  }
  const isEndless = requestsNoExpiry(request);
  if (isEndless && maxLifetimeDays !== undefined) {
    faults.push(
      fault('expires_at', 'invalid_value', `A key is valid for at most ${maxLifetimeDays} days: set its expiry.`),
    );
  }
  if (faults.length > 0) throw invalidFields(faults);
  const terms = { scopes, ipAllowlist: [...new Set(ipAllowlist)], isEndless };
  return expiresAt === undefined ? terms : { ...terms, expiresAt };
}

function fault(param: string, code: string, message: string): Fault {
  return { param, code, message };
}

/** Throws ScopeEscalation if a credential grants scopes that it lacks. Unknown scopes are reported elsewhere. */
export function refuseMoreScopes(requested: readonly string[], held: readonly string[]): void {
  const missing = requested.filter((scope) => isKnownScope(scope) && !held.includes(scope));
  if (missing.length > 0) throw ScopeEscalation({ missing_scopes: [...new Set(missing)] });
}

/**
 * Returns the final terms of a key. A key that another key creates cannot outlive it or be used from more networks,
 * and inherits what the request leaves out. Without a requested expiry it gets the default lifetime, or less if a
 * limit requires it.
 */
export function boundTerms(terms: RequestedTerms, { creator, maxLifetimeDays, lifetimeDays, now }: Bounds): KeyTerms {
  const { ipAllowlist = [], expiresAt: creatorEnds } = creator ?? {};
  if (creatorEnds !== undefined && (terms.isEndless || (terms.expiresAt ?? '') > creatorEnds)) {
    throw widerThanCreator('expires_at');
  }
  if (ipAllowlist.length > 0 && !terms.ipAllowlist.every((network) => isNetworkWithin(network, ipAllowlist))) {
    throw widerThanCreator('ip_allowlist');
  }
  const longest = maxLifetimeDays === undefined ? undefined : new Date(now + maxLifetimeDays * DAY_MS).toISOString();
  const usual = terms.isEndless ? undefined : defaultEnd(lifetimeDays, now);
  const expiresAt = terms.expiresAt ?? earlier(creatorEnds, earlier(longest, usual));
  return {
    scopes: terms.scopes,
    ipAllowlist: terms.ipAllowlist.length > 0 ? terms.ipAllowlist : ipAllowlist,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

function widerThanCreator(param: 'expires_at' | 'ip_allowlist'): AppError {
  return ScopeEscalation({ param }, { param });
}

/**
 * Throws ScopeEscalation if a key outlives the key that rotates it or may be used from more networks: the new secret
 * would give more than the rotating credential has.
 */
export function refuseWiderKey(key: KeyTerms, creator: KeyTerms): void {
  if (creator.expiresAt !== undefined && (key.expiresAt === undefined || key.expiresAt > creator.expiresAt)) {
    throw ScopeEscalation({ param: 'expires_at' });
  }
  if (creator.ipAllowlist.length === 0) return;
  const isWithin = key.ipAllowlist.every((network) => isNetworkWithin(network, creator.ipAllowlist));
  if (key.ipAllowlist.length === 0 || !isWithin) throw ScopeEscalation({ param: 'ip_allowlist' });
}

/** Returns the default expiry of a key; undefined for none. */
export function defaultEnd(lifetimeDays: number, now: number): string | undefined {
  return lifetimeDays === 0 ? undefined : new Date(now + lifetimeDays * DAY_MS).toISOString();
}

/** Returns whether a request explicitly sets `expires_at: null`, as opposed to leaving it out. */
function requestsNoExpiry({ namedFields, expiresAt }: CreateApiKeyRequest): boolean {
  return expiresAt === undefined && namedFields?.includes('expires_at') === true;
}

function earlier(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one < other ? one : other;
}
