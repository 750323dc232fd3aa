import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface ProviderSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  /** How the client sends its secret; `client_secret_post` by default. */
  readonly authentication?: 'client_secret_basic' | 'client_secret_post';
  /** E-mail address of the account that everybody has there. */
  readonly email: string;
}

/** A real authorization server (oidc-provider) in a separate process. */
export interface RunningProvider {
  readonly issuer: string;
  /** Sets whether everybody denies requests for access from now on. */
  denies(denies: boolean): void;
  /** Follows an authorization URL like a browser and agrees. Returns the URL to which the browser is redirected. */
  allow(authorizeUrl: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startProvider(settings: ProviderSettings): Promise<RunningProvider> {
  const file = fileURLToPath(new URL('./provider-main.js', import.meta.url));
  const child: ChildProcess = fork(file, [JSON.stringify(settings)], { execArgv: [], stdio: 'ignore' });
  const [{ issuer }] = (await once(child, 'message')) as [{ issuer: string }];
  return {
    issuer,
    denies: (denies) => void child.send({ denies }),
    async allow(authorizeUrl) {
      const cookies = new Map<string, string>();
      let url = authorizeUrl;
      for (let hops = 0; hops < 10 && url.startsWith(issuer); hops++) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
        for (const set of answer.headers.getSetCookie()) {
          const [pair = ''] = set.split(';');
          cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
        }
        const location = answer.headers.get('location');
        if (location === null) throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`);
        url = new URL(location, url).href;
      }
      return url;
    },
    async stop() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
