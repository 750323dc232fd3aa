import { type Places, withKeyFiles } from '../settings.js';
import { type Check, failed, ok, type Result, runChecks } from './check.js';
import { configurationCheck } from './configuration.js';
import { diskCheck, permissionsCheck } from './data-folder.js';
import { embeddedChecks, embeddedInstallation, inspectFolder } from './embedded.js';
import { installationChecks } from './installation.js';
import {
  bucketCheck,
  collectorCheck,
  filesCheck,
  mongoCheck,
  mongoInstallations,
  natsCheck,
  typesenseCheck,
} from './servers.js';

interface Diagnosis {
  readonly ok: boolean;
  readonly checks: readonly Result[];
}

/** Milliseconds after which a check that hangs fails. All checks run in parallel. */
const DEADLINE_MS = 6000;
const THOROUGH_DEADLINE_MS = 24 * 3_600_000;
/** Services that have an outbox in MongoDB. */
const WITH_OUTBOX = ['identity', 'tenancy', 'resources', 'files', 'search', 'messaging', 'agents', 'automations'];
const MIN_NODE_VERSION = [20, 19] as const;

/**
 * Checks an installation from where this process runs, without changing anything. `places` is undefined if its settings
 * are invalid.
 */
export async function diagnose(
  env: NodeJS.ProcessEnv,
  places: Places | undefined,
  services: readonly string[],
  thorough = false,
): Promise<Diagnosis> {
  const checks: Check[] = [runtimeCheck];
  if (places === undefined) checks.push(configurationCheck(env, services));
  else {
    const { mongodbUrl, natsUrl, dataDir, s3Url, typesenseUrl, typesenseApiKey, otlpUrl, otlpHeaders } = places;
    const mesh = mongodbUrl !== undefined || natsUrl !== undefined;
    checks.push(configurationCheck(mesh ? env : withKeys(env, dataDir), services));
    if (!mesh) {
      const inspected = inspectFolder(places, thorough);
      checks.push(
        permissionsCheck(dataDir),
        diskCheck(dataDir),
        ...embeddedChecks(inspected, typesenseUrl === undefined),
        ...installationChecks(places, env, () => embeddedInstallation(inspected)),
      );
    }
    if (mongodbUrl !== undefined) {
      checks.push(...installationChecks(places, env, () => mongoInstallations(mongodbUrl, WITH_OUTBOX)));
    }
    if (mongodbUrl !== undefined) checks.push(mongoCheck(mongodbUrl, WITH_OUTBOX));
    if (natsUrl !== undefined) checks.push(natsCheck(natsUrl));
    if (typesenseUrl !== undefined) checks.push(typesenseCheck(typesenseUrl, typesenseApiKey));
    if (s3Url !== undefined) checks.push(bucketCheck(s3Url));
    if (s3Url !== undefined && mongodbUrl !== undefined) checks.push(filesCheck(mongodbUrl, s3Url, thorough));
    if (otlpUrl !== undefined) checks.push(collectorCheck(otlpUrl, otlpHeaders));
  }
  const results = await runChecks(checks, thorough ? THOROUGH_DEADLINE_MS : DEADLINE_MS);
  return { ok: results.every(({ status }) => status !== 'failed'), checks: results };
}

/**
 * Returns the environment with placeholders for missing keys. Missing keys are no fault, because the first start
 * creates them.
 */
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
    const [minMajor, minMinor] = MIN_NODE_VERSION;
    const enough = major > minMajor || (major === minMajor && minor >= minMinor);
    const text = `${process.version} on ${process.platform} ${process.arch}`;
    return enough ? ok(text) : failed(`${text}: ${MIN_NODE_VERSION.join('.')} is required`);
  },
};
