import { type Places, withKeyFiles } from '../settings.js';
import { type Check, failed, ok, type Result, runChecks } from './check.js';
import { configurationCheck } from './configuration.js';
import { diskCheck, permissionsCheck } from './data-folder.js';
import { embeddedChecks } from './embedded.js';
import { bucketCheck, collectorCheck, mongoCheck, natsCheck, typesenseCheck } from './servers.js';

export interface Diagnosis {
  readonly ok: boolean;
  readonly checks: readonly Result[];
}

/** Milliseconds after which a check that hangs has failed; all run beside one another. */
const DEADLINE_MS = 6000;
/** Services that keep an outbox in MongoDB. */
const WITH_OUTBOX = ['identity', 'tenancy', 'resources', 'files', 'search', 'messaging'];
const LEAST_NODE = [20, 19] as const;

/** Looks at an installation from where this process runs; changes nothing. `places` is absent where they can't be read. */
export async function diagnose(
  env: NodeJS.ProcessEnv,
  places: Places | undefined,
  services: readonly string[],
): Promise<Diagnosis> {
  const checks: Check[] = [runtimeCheck];
  if (places === undefined) checks.push(configurationCheck(env, services));
  else {
    const { mongodbUrl, natsUrl, dataDir, s3Url, typesenseUrl, typesenseApiKey, otlpUrl, otlpHeaders } = places;
    const mesh = mongodbUrl !== undefined || natsUrl !== undefined;
    checks.push(configurationCheck(mesh ? env : withKeys(env, dataDir), services));
    if (!mesh)
      checks.push(
        permissionsCheck(dataDir),
        diskCheck(dataDir),
        ...embeddedChecks(dataDir, typesenseUrl === undefined),
      );
    if (mongodbUrl !== undefined) checks.push(mongoCheck(mongodbUrl, WITH_OUTBOX));
    if (natsUrl !== undefined) checks.push(natsCheck(natsUrl));
    if (typesenseUrl !== undefined) checks.push(typesenseCheck(typesenseUrl, typesenseApiKey));
    if (s3Url !== undefined) checks.push(bucketCheck(s3Url));
    if (otlpUrl !== undefined) checks.push(collectorCheck(otlpUrl, otlpHeaders));
  }
  const results = await runChecks(checks, DEADLINE_MS);
  return { ok: results.every(({ status }) => status !== 'failed'), checks: results };
}

/** Keys that are missing are made by the first start: they are no fault of the settings. */
function withKeys(env: NodeJS.ProcessEnv, dataDir: string): NodeJS.ProcessEnv {
  const { COMMONPLACE_SECRET_KEY, COMMONPLACE_SECRETS_KEY, ...rest } = withKeyFiles(env, dataDir);
  const made = '0'.repeat(64);
  return {
    ...rest,
    COMMONPLACE_SECRET_KEY: COMMONPLACE_SECRET_KEY ?? made,
    COMMONPLACE_SECRETS_KEY: COMMONPLACE_SECRETS_KEY ?? made,
  };
}

const runtimeCheck: Check = {
  name: 'Node.js',
  run: () => {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
    const [leastMajor, leastMinor] = LEAST_NODE;
    const enough = major > leastMajor || (major === leastMajor && minor >= leastMinor);
    const said = `${process.version} on ${process.platform} ${process.arch}`;
    return enough ? ok(said) : failed(`${said}: ${LEAST_NODE.join('.')} is needed`);
  },
};
