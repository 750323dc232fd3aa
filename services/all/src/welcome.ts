import { setTimeout as sleep } from 'node:timers/promises';
import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import { ConfigError } from '@commonplace/kit/config';
import { AppError } from '@commonplace/kit/errors';
import { contracts } from '@commonplace/platform/contracts';
import { defineService } from '@commonplace/platform/runtime';
import { disclose, disclosureOf } from './disclosure.js';
import { fillSample, SAMPLE_CALLS } from './sample.js';
import { welcomeConfig } from './welcome-config.js';

/** Creates an owner, a key with every scope, and a sample workspace at the first start. Every start prints the URLs. */
export const welcome = defineService({
  name: 'bootstrap',
  config: welcomeConfig,
  stores: false,
  calls: [contracts.index, ...SAMPLE_CALLS],
  async start(host) {
    const settings = host.settings(welcomeConfig);
    const { publicUrl, ownerEmail, ownerPassword = '', sample } = settings;
    const auth = host.client(contracts.auth);
    const begin = async (): Promise<void> => {
      const disclosure = disclosureOf(settings, host.dataDir);
      await untilServed(() =>
        host.client(contracts.index).countResources({ workspaceIds: [], readableIds: [] }, host.systemCall()),
      );
      const request = {
        email: ownerEmail,
        name: 'Owner',
        scopes: [...KNOWN_SCOPES],
        password: ownerPassword,
        withoutKey: disclosure.file === undefined && !disclosure.prints,
      };
      const made = await auth.bootstrap(request, host.systemCall(BOOTSTRAP_MS)).catch(reportRefusedSetting);
      // The credentials are shown at once: whoever ends the process before the sample exists still needs them.
      if (made.created) disclose(made, publicUrl, disclosure);
      // Everything works without it, so a machine that is too busy for it must not end the process.
      if (made.created && sample) {
        await fillSample(host, made).catch((error) => host.log.warn('sample.incomplete', { error }));
      }
      // The addresses come last, because people and scripts take them as the sign that the process is ready.
      console.log(`Commonplace  ${publicUrl}\nDocs         ${publicUrl}/docs`);
    };
    return { implementations: [], runs: [{ begin }] };
  },
});

const BOOTSTRAP_MS = 30_000;
/** Milliseconds to wait for the other services of a mesh, and between two polls. */
const COMING_MS = 60_000;
const LOOK_MS = 500;

/** Settings that become fields of the request for the first owner. */
const SETTINGS: Readonly<Record<string, string>> = {
  email: 'COMMONPLACE_OWNER_EMAIL',
  password: 'COMMONPLACE_OWNER_PASSWORD',
};

/** Throws `ConfigError` in place of the refusal of a field that comes from a setting. */
function reportRefusedSetting(error: unknown): never {
  const setting = error instanceof AppError && error.param !== undefined ? SETTINGS[error.param] : undefined;
  throw setting === undefined ? error : new ConfigError([`${setting} is refused: ${(error as AppError).message}`]);
}

/**
 * Waits until the services respond, since those of a mesh start in any order and an interrupted bootstrap would
 * stay incomplete.
 */
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
