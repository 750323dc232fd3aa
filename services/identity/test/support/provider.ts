import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface ProviderSettings {
  /** Claims of each person, by `sub`. */
  readonly people: Record<string, Record<string, string | boolean>>;
}

/** A real identity provider that runs next to the test. */
export interface RunningProvider {
  readonly issuer: string;
  /** Returns an access token for a person. */
  token(name: string, more?: { audience?: string; alg?: string; scope?: string }): Promise<string>;
  /** Returns the public key of an algorithm as a JSON Web Key. */
  publicKey(alg: string): Promise<Record<string, string>>;
  stop(): Promise<void>;
}

export async function startProvider(settings: ProviderSettings): Promise<RunningProvider> {
  const file = fileURLToPath(new URL('./provider-main.js', import.meta.url));
  const child: ChildProcess = fork(file, [JSON.stringify(settings)], { execArgv: [], stdio: 'ignore' });
  const [{ issuer }] = (await once(child, 'message')) as [{ issuer: string }];
  return {
    issuer,
    async token(name, { audience = 'commonplace', alg = 'ES256', scope = 'resource:read' } = {}) {
      const body = new URLSearchParams({ grant_type: 'client_credentials', scope, resource: `urn:${audience}:${alg}` });
      const authorization = `Basic ${Buffer.from(`${name}:secret`).toString('base64')}`;
      const response = await fetch(`${issuer}/token`, { method: 'POST', body, headers: { authorization } });
      const answer = (await response.json()) as { access_token?: string };
      if (answer.access_token === undefined) throw new Error(JSON.stringify(answer));
      return answer.access_token;
    },
    async publicKey(alg) {
      const { keys } = (await (await fetch(`${issuer}/jwks`)).json()) as { keys: Record<string, string>[] };
      return keys.find(({ kid }) => kid === `key-${alg}`) ?? {};
    },
    async stop() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
