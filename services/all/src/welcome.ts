import { chmodSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import { contracts } from '@commonplace/kit/contracts';
import { AppError } from '@commonplace/kit/errors';
import type { ServiceModule } from '@commonplace/kit/runtime';
import type { BootstrapResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import { fillSample } from './sample.js';
import { welcomeConfig } from './welcome-config.js';

/** The first start: an owner, a key with every scope, and something to read. Later ones say where they listen. */
export const welcome: ServiceModule = {
  name: 'bootstrap',
  config: welcomeConfig,
  stores: false,
  async start(host) {
    const { publicUrl, ownerEmail, bootstrapJson, sample } = host.settings(welcomeConfig);
    const auth = host.client(contracts.auth);
    return {
      implementations: [],
      begin: async () => {
        await untilServed(() => host.client(contracts.index).countResources({ workspaceIds: [] }, host.systemCall()));
        const request = { email: ownerEmail, name: 'Owner', scopes: [...KNOWN_SCOPES] };
        const made = await auth.bootstrap(request, host.systemCall(BOOTSTRAP_MS));
        console.log(`Commonplace  ${publicUrl}\nDocs         ${publicUrl}/docs`);
        if (!made.created) return;
        introduce(made, publicUrl, bootstrapJson);
        if (sample) await fillSample(host, made);
      },
    };
  },
};

const BOOTSTRAP_MS = 30_000;
/** Milliseconds that services of a mesh may come up after this one, and between two looks. */
const COMING_MS = 60_000;
const LOOK_MS = 500;

/** In a mesh services come up in any order: what is half made by then would stay so. */
async function untilServed(ask: () => Promise<unknown>): Promise<void> {
  for (const until = Date.now() + COMING_MS; ; await sleep(LOOK_MS)) {
    try {
      await ask();
      return;
    } catch (error) {
      const isAway = error instanceof AppError && error.code === 'UNAVAILABLE';
      if (!isAway || Date.now() > until) throw error;
    }
  }
}

/** Says once what only the first start knows. */
function introduce({ user, password, apiKey }: BootstrapResponse, publicUrl: string, file: string | undefined): void {
  const email = user?.email ?? '';
  console.log(`Sign in      ${publicUrl}/auth/sign-in   ${email}   ${password}`);
  console.log(`API key      ${apiKey}`);
  console.log('The password and the key are shown this once.');
  if (file === undefined) return;
  const facts = { base_url: publicUrl, api_key: apiKey, email, password };
  writeFileSync(file, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
}
