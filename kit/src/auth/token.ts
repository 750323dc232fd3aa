import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../cache/index.js';
import { AppError } from '../errors/index.js';
import type { Caller } from './caller.js';
import { packScopes, unpackScopes } from './packed-scopes.js';

/** Lifetime of a caller token in seconds; the gateway requests a new one each second. */
export const CALLER_TOKEN_SECONDS = 30;
const ISSUER = 'commonplace/identity';

/** Signs and verifies caller tokens (JWT, EdDSA over Ed25519). */
export interface TokenSigner {
  sign(caller: Caller): Promise<string>;
  /** The public keys, as a JSON Web Key Set. */
  readonly jwks: string;
}

/**
 * Returns the caller that a token identifies, synchronously if the token was verified before. Rejects with
 * `invalid_credentials`.
 */
export type TokenVerifier = (token: string) => Caller | Promise<Caller>;

/** Creates a private Ed25519 key from 32 bytes, in the PKCS #8 form of RFC 8410. */
function privateKey(seed: Buffer): KeyObject {
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
  return createPrivateKey({ key: Buffer.concat([prefix, seed]), format: 'der', type: 'pkcs8' });
}

/**
 * Creates a signer that uses the first seed. The public keys of the other seeds stay in the key set, so that tokens
 * signed before a rotation remain valid. A seed is 32 bytes.
 */
export function createTokenSigner(seeds: readonly Buffer[]): TokenSigner {
  const [current] = seeds;
  if (current === undefined) throw new Error('a token signer needs a seed');
  const key = privateKey(current);
  const publicKeys = seeds.map((seed) => {
    const jwk = createPublicKey(privateKey(seed)).export({ format: 'jwk' });
    return { ...jwk, kid: keyId(jwk.x as string), alg: 'EdDSA', use: 'sig' };
  });
  const kid = publicKeys[0]?.kid as string;
  return {
    jwks: JSON.stringify({ keys: publicKeys }),
    sign: (caller) =>
      new SignJWT({ caller: packCaller(caller) } as unknown as JWTPayload)
        .setProtectedHeader({ alg: 'EdDSA', kid })
        .setIssuer(ISSUER)
        .setIssuedAt()
        .setExpirationTime(`${CALLER_TOKEN_SECONDS}s`)
        .setJti(randomBytes(9).toString('base64url'))
        .sign(key),
  };
}

type PackedCaller = Omit<Caller, 'credential'> & {
  readonly credential: Omit<Caller['credential'], 'scopes'> & { readonly scopes: string };
};

function packCaller({ credential, ...caller }: Caller): PackedCaller {
  return { ...caller, credential: { ...credential, scopes: packScopes(credential.scopes) } };
}

function unpackCaller({ credential, ...caller }: PackedCaller): Caller {
  return { ...caller, credential: { ...credential, scopes: unpackScopes(credential.scopes) } };
}

function keyId(x: string): string {
  return createHmac('sha256', 'kid').update(x).digest('base64url').slice(0, 12);
}

interface Verified {
  readonly caller: Caller;
  readonly expires: number;
}

/**
 * Creates a verifier of caller tokens with the keys of `fetchKeys`, which is called again when a token names an unknown
 * key, at most once per `COOL_DOWN_MS`. A verified token is cached until it expires.
 */
export function createTokenVerifier(fetchKeys: () => Promise<string>, now: () => number = Date.now): TokenVerifier {
  const remembered = new LRUCache<string, Verified>(maxEntries(20_000));
  let keys: ReadonlyMap<string, KeyObject> = new Map();
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;

  async function fetch(): Promise<void> {
    keys = parseKeys(await fetchKeys());
    fetchedAt = now();
  }

  async function keyFor(kid: string): Promise<KeyObject> {
    if (!keys.has(kid) && (fetching !== undefined || now() - fetchedAt > COOL_DOWN_MS)) {
      // Concurrent calls share one fetch of the keys.
      fetching ??= fetch().finally(() => {
        fetching = undefined;
      });
      await fetching;
    }
    const key = keys.get(kid);
    if (key === undefined) throw refused();
    return key;
  }

  async function verify(token: string): Promise<Caller> {
    const { payload } = await jwtVerify(token, (header) => keyFor(header.kid ?? ''), {
      algorithms: ['EdDSA'],
      issuer: ISSUER,
      requiredClaims: ['exp'],
      currentDate: new Date(now()),
    }).catch((error: unknown) => {
      throw error instanceof AppError ? error : refused(error);
    });
    const caller = unpackCaller(payload.caller as PackedCaller);
    remembered.set(token, { caller, expires: (payload.exp as number) * 1000 });
    return caller;
  }

  return (token) => {
    const known = remembered.get(token);
    return known !== undefined && known.expires > now() ? known.caller : verify(token);
  };
}

const COOL_DOWN_MS = 1000;

function parseKeys(jwks: string): Map<string, KeyObject> {
  const { keys } = JSON.parse(jwks) as { keys: { kid: string; kty: string; crv: string; x: string }[] };
  return new Map(keys.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]));
}

function refused(cause?: unknown): AppError {
  const details = cause instanceof errors.JWTExpired ? { [CALLER_TOKEN]: 'expired' } : {};
  return new AppError('UNAUTHENTICATED', 'invalid_credentials', 'The caller token is not valid.', { cause, details });
}

const CALLER_TOKEN = 'caller_token';

/**
 * Returns whether a service refused a call because the caller token had expired on its way. The client's own credential
 * is valid then, and a new token is issued with the next request.
 */
export const isCallerTokenExpired = ({ code, details }: AppError): boolean =>
  code === 'UNAUTHENTICATED' && details[CALLER_TOKEN] === 'expired';

/**
 * Creates and verifies peer tokens, which prove which process calls: `<service>.<expiry>.<HMAC-SHA256>`, with a key
 * that all processes of one installation share. They do not identify a person.
 */
export interface PeerTokens {
  mint(): string;
  /** Returns the calling service's name. Throws `invalid_credentials`. */
  verify(token: string | undefined): string;
}

const PEER_TOKEN_MS = 60_000;

/** Creates the peer tokens of one process. `key` is at least 32 bytes; `service` is the name of this process. */
export function createPeerTokens(key: Buffer, service: string, now: () => number = Date.now): PeerTokens {
  const remembered = new LRUCache<string, { service: string; expires: number }>({ max: 1000 });
  let minted = { token: '', until: 0 };

  const mac = (text: string): string => createHmac('sha256', key).update(`peer:${text}`).digest('base64url');

  return {
    mint() {
      if (now() > minted.until - PEER_TOKEN_MS / 2) {
        const until = now() + PEER_TOKEN_MS;
        const text = `${service}.${until}`;
        minted = { token: `${text}.${mac(text)}`, until };
      }
      return minted.token;
    },
    verify(token = '') {
      const known = remembered.get(token);
      if (known !== undefined && known.expires > now()) return known.service;
      const [name = '', until = '', signature = ''] = token.split('.');
      const expected = Buffer.from(mac(`${name}.${until}`));
      const received = Buffer.from(signature);
      if (received.length !== expected.length || !timingSafeEqual(received, expected) || !(Number(until) > now())) {
        throw new AppError('UNAUTHENTICATED', 'invalid_credentials', 'The peer token is not valid.');
      }
      remembered.set(token, { service: name, expires: Number(until) });
      return name;
    },
  };
}
