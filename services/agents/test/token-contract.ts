import { newId } from '@commonplace/kit/id';
import { createEnvelope } from '@commonplace/kit/secrets';
import { inWork, type Store } from '@commonplace/kit/store';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { PendingAuthorization } from '../src/mcp/oauth.js';
import { accessToken, redeemCode, storeGrant } from '../src/mcp/tokens.js';
import { mcpClientCollection, mcpGrantCollection } from '../src/stores/mcp-servers.js';
import { testMcpGuard } from './mcp-guard.js';
import { startOAuthServer, type TestOAuthServer } from './mcp-oauth-server.js';
import { settingsOf } from './settings.js';

export interface TokenHarness {
  /** Returns a store of a process of its own where the adapter allows several, otherwise the same one. */
  store(): Promise<Store>;
  close(): Promise<void>;
}

const CALLS = 10;

async function openProcess(store: Store, env: NodeJS.ProcessEnv) {
  const settings = settingsOf({ COMMONPLACE_URL_ALLOWLIST: '127.0.0.1', ...env });
  return {
    ...{ store, settings, envelope: createEnvelope(settings.secretsKey), mcpGuard: await testMcpGuard(settings) },
    mcpGrants: await store.collection(mcpGrantCollection),
    mcpClients: await store.collection(mcpClientCollection),
  };
}

/** Tests what two processes that share tokens guarantee, on every store. */
export function tokenContract(name: string, open: () => Promise<TokenHarness>): void {
  describe(`tokens of MCP servers on ${name}`, () => {
    let harness: TokenHarness;
    let oauth: TestOAuthServer;
    let processes: Awaited<ReturnType<typeof openProcess>>[];
    beforeAll(async () => {
      harness = await open();
      oauth = await startOAuthServer();
      const env = { COMMONPLACE_SECRETS_KEY: Buffer.alloc(32, 5).toString('base64') };
      processes = [];
      for (let i = 0; i < 2; i++) processes.push(await openProcess(await harness.store(), env));
    });
    afterAll(async () => {
      for (const { mcpGuard } of processes ?? []) await mcpGuard.close();
      await oauth?.close();
      await harness?.close();
    });
    beforeEach(() => {
      oauth.requests.length = 0;
      oauth.replayed.length = 0;
    });

    /** Stores a grant whose access token has expired. Returns its id. */
    async function expired(): Promise<string> {
      const [parts] = processes as [(typeof processes)[number]];
      const server = { id: newId(), tenant: newId(), url: 'http://127.0.0.1:1/mcp' };
      oauth.expiresIn = 1;
      const back = oauth.allow(authorizeUrl());
      const code = back.searchParams.get('code') ?? '';
      const pending = pendingAt(oauth);
      const tokens = await redeemCode(parts, server, pending, { code, iss: oauth.issuer });
      await inWork(parts.store, (work) => storeGrant(parts, work, server, newId(), pending, tokens));
      oauth.expiresIn = 3_600;
      oauth.requests.length = 0;
      const [grant] = await parts.mcpGrants.find({ where: { serverId: server.id }, limit: 1 });
      return grant?.id ?? '';
    }

    const authorizeUrl = () => {
      const url = new URL(`${oauth.issuer}/authorize`);
      const { client_id: clientId } = CLIENT;
      const asked = { client_id: clientId, redirect_uri: redirect(), resource: RESOURCE, code_challenge: CHALLENGE };
      for (const [key, value] of Object.entries(asked)) url.searchParams.set(key, value);
      return url.href;
    };
    const redirect = () => `${processes[0]?.settings.publicUrl}/auth/mcp/callback`;
    const refreshes = () => oauth.requests.filter(({ path }) => path === '/token').length;
    const callAll = (id: string, rejected?: string) =>
      Promise.all(
        Array.from({ length: CALLS }, (_, i) => {
          const parts = processes[i % 2] as (typeof processes)[number];
          return accessToken(parts, id, rejected, new AbortController().signal);
        }),
      );

    test('two processes refresh an expired one by one request, and both use the result', async () => {
      const id = await expired();
      oauth.refreshMs = 150;
      const tokens = await callAll(id);
      expect([new Set(tokens).size, refreshes(), oauth.replayed]).toEqual([1, 1, []]);
      expect(oauth.good.has(tokens[0] ?? '')).toBe(true);
    });

    test('one that the server refuses is refreshed by one request, too', async () => {
      const id = await expired();
      const [rejected] = await callAll(id);
      oauth.requests.length = 0;
      const tokens = await callAll(id, rejected);
      expect([new Set(tokens).size, refreshes(), oauth.replayed]).toEqual([1, 1, []]);
      expect(tokens[0]).not.toBe(rejected);
    });

    test('one that was revoked ends for both after one request', async () => {
      const id = await expired();
      oauth.revoke();
      const calls = Array.from({ length: CALLS }, (_, i) => {
        const parts = processes[i % 2] as (typeof processes)[number];
        return accessToken(parts, id, undefined, new AbortController().signal).then(
          () => 'token',
          ({ kind }: { kind: string }) => kind,
        );
      });
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['auth']));
      expect(refreshes()).toBe(1);
    });
  });
}

const RESOURCE = 'http://127.0.0.1:1/mcp';
const CLIENT = { client_id: 'client' };
/** A code verifier of RFC 7636 and its challenge. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

function pendingAt({ issuer, metadata }: TestOAuthServer): PendingAuthorization {
  return { issuer, metadata: metadata as never, client: CLIENT, resource: RESOURCE, codeVerifier: VERIFIER };
}
