import { randomBytes } from 'node:crypto';
import {
  createPeerTokens,
  createTokenSigner,
  createTokenVerifier,
  isCallerTokenExpired,
  KNOWN_SCOPES,
} from '@commonplace/kit/auth';
import type { AppError } from '@commonplace/kit/errors';
import { describe, expect, test } from '@jest/globals';
import { personCalled } from '../src/testing/index.js';

const seed = randomBytes(32);
const caller = personCalled('Ada');

describe('caller tokens', () => {
  test('identify the caller to whoever has the keys', async () => {
    const signer = createTokenSigner([seed]);
    const verify = createTokenVerifier(async () => signer.jwks);
    expect(await verify(await signer.sign(caller))).toEqual(caller);
  });

  test('pass on each scope, and all of them', async () => {
    const signer = createTokenSigner([seed]);
    const verify = createTokenVerifier(async () => signer.jwks);
    for (const scopes of [[], ...KNOWN_SCOPES.map((scope) => [scope]), [...KNOWN_SCOPES]]) {
      const scoped = { ...caller, credential: { ...caller.credential, scopes } };
      expect(await verify(await signer.sign(scoped))).toEqual(scoped);
    }
    await expect(async () => signer.sign(personCalled('Eve', ['no:such']))).rejects.toThrow('is not a scope');
  });

  test('many concurrent verifications wait for one fetch of the keys', async () => {
    const signer = createTokenSigner([seed]);
    let fetches = 0;
    const verify = createTokenVerifier(async () => {
      fetches++;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return signer.jwks;
    });
    const tokens = await Promise.all(Array.from({ length: 16 }, () => signer.sign(caller)));
    expect(await Promise.all(tokens.map(verify))).toEqual(tokens.map(() => caller));
    expect(fetches).toBe(1);
  });

  test('signed by a newer key are valid as soon as its set is fetched, at most once a second', async () => {
    let clock = Date.now();
    const before = createTokenSigner([seed]);
    const after = createTokenSigner([randomBytes(32), seed]);
    let set = before.jwks;
    let fetches = 0;
    const fetch = async () => {
      fetches++;
      return set;
    };
    const verify = createTokenVerifier(fetch, () => clock);
    await verify(await before.sign(caller));
    set = after.jwks;
    const token = await after.sign(caller);
    await expect(verify(token)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    expect(fetches).toBe(1);
    clock += 1001;
    expect(await verify(token)).toEqual(caller);
    expect(fetches).toBe(2);
  });

  test('expire, and are valid for one key only', async () => {
    let clock = Date.now();
    const signer = createTokenSigner([seed]);
    const token = await signer.sign(caller);
    const verify = createTokenVerifier(
      async () => signer.jwks,
      () => clock,
    );
    await verify(token);
    clock += 31_000;
    const late = await Promise.resolve(verify(token)).catch((error: AppError) => error);
    expect(late).toMatchObject({ code: 'UNAUTHENTICATED', reason: 'invalid_credentials' });
    expect(isCallerTokenExpired(late as AppError)).toBe(true);
    const stranger = await createTokenSigner([randomBytes(32)]).sign(caller);
    await expect(verify(stranger)).rejects.toMatchObject({ reason: 'invalid_credentials', details: {} });
    await expect(verify(`${token}x`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

describe('peer tokens', () => {
  const key = randomBytes(32);

  test('name the process that created them', () => {
    expect(createPeerTokens(key, 'b').verify(createPeerTokens(key, 'a').mint())).toBe('a');
  });

  test('of another installation, changed or expired are refused', () => {
    let clock = Date.now();
    const peers = createPeerTokens(key, 'a', () => clock);
    const token = peers.mint();
    const refused = expect.objectContaining({ reason: 'invalid_credentials' });
    for (const bad of [undefined, '', 'a', createPeerTokens(randomBytes(32), 'a').mint(), token.replace('a.', 'b.')]) {
      expect(() => peers.verify(bad)).toThrow(refused);
    }
    expect(peers.verify(token)).toBe('a');
    clock += 61_000;
    expect(() => peers.verify(token)).toThrow(refused);
  });
});
