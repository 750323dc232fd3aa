// `npm run mesh`: runs the gateway and each service as a separate process, connected by gRPC, on the MongoDB and NATS
// servers of COMMONPLACE_MONGODB_URL and COMMONPLACE_NATS_URL. Files are stored in the bucket of COMMONPLACE_S3_URL,
// and the search index on the server of COMMONPLACE_TYPESENSE_URL; without these settings, in the data folder.
import './node-version.mjs';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, root } from './build.mjs';
import { freePorts } from './ports.mjs';

export const SERVICES = ['identity', 'tenancy', 'resources', 'files', 'search', 'messaging', 'agents', 'automations'];
const EX_CONFIG = 78;

/** Returns the settings that all processes of one mesh share, except addresses. */
export function sharedSettings(env) {
  return {
    ...env,
    COMMONPLACE_MESH_KEY: env.COMMONPLACE_MESH_KEY || randomBytes(32).toString('hex'),
    COMMONPLACE_LOG_LEVEL: env.COMMONPLACE_LOG_LEVEL || 'warn',
  };
}

/** Returns additional settings of individual services. */
export function ownSettings(env) {
  const dataDir = env.COMMONPLACE_DATA_DIR || './data';
  const secretsKey = { COMMONPLACE_SECRETS_KEY: env.COMMONPLACE_SECRETS_KEY || secretIn(dataDir, 'secrets.key') };
  return {
    identity: { COMMONPLACE_SECRET_KEY: env.COMMONPLACE_SECRET_KEY || secretIn(dataDir, 'secret.key') },
    agents: secretsKey,
    automations: secretsKey,
    tenancy: secretsKey,
    resources: secretsKey,
  };
}

/** Starts a mesh on free loopback ports. Resolves when the gateway is ready. */
export async function startMesh(env = process.env, { say = console.log } = {}) {
  const ports = await freePorts(SERVICES.length);
  const addresses = SERVICES.map((name, i) => `${name}=127.0.0.1:${ports[i]}`).join(',');
  const port = env.COMMONPLACE_PORT || '8080';
  const shared = {
    ...sharedSettings(env),
    COMMONPLACE_SERVICE_ADDRESSES: addresses,
    COMMONPLACE_GRPC_HOST: '127.0.0.1',
    COMMONPLACE_PUBLIC_URL: env.COMMONPLACE_PUBLIC_URL || `http://127.0.0.1:${port}`,
  };
  const settings = ownSettings(env);
  const children = SERVICES.map((name, i) => {
    const own = { COMMONPLACE_GRPC_PORT: String(ports[i]), ...settings[name], ...metricsPort(env, i + 1) };
    return startPart(name, programOf(name), { ...shared, ...own });
  });
  children.push(startPart('gateway', programOf('gateway'), shared));
  let stopping = false;
  const stop = () => {
    stopping = true;
    return Promise.all(children.map(end));
  };
  // A service that can't start may end after the gateway is ready. Without this check, the bootstrap would wait for it
  // forever.
  const broken = Promise.race(children.map(failed));
  broken.catch(() => {});
  let bootstrap;
  try {
    await Promise.race([ready(`http://127.0.0.1:${port}/health/ready`), broken]);
    bootstrap = startPart('bootstrap', BOOTSTRAP, { ...shared, COMMONPLACE_METRICS_PORT: '' });
    await Promise.race([finished(bootstrap), broken]);
  } catch (error) {
    await Promise.all([stop(), bootstrap && end(bootstrap)]);
    throw error;
  }
  for (const child of children) sayWhenGone(child, (line) => stopping || say(line));
  say(`Mesh of ${children.length} processes: ${addresses}`);
  return { baseUrl: shared.COMMONPLACE_PUBLIC_URL, pids: children.map(({ pid }) => pid), children, stop };
}

/** Returns the path of the program of a service or the gateway, relative to the project's root. */
export function programOf(name) {
  return name === 'gateway' ? 'gateway/dist/src/main.js' : `services/${name}/dist/src/main.js`;
}

/** Program that creates the owner of a new mesh and then ends. */
export const BOOTSTRAP = 'services/all/dist/src/bootstrap.js';

/**
 * Returns the metrics setting of a service. The gateway uses the configured port, and the services the following ports
 * in order.
 */
function metricsPort({ COMMONPLACE_METRICS_PORT: port }, place) {
  return port ? { COMMONPLACE_METRICS_PORT: String(Number(port) + place) } : {};
}

/**
 * Returns a secret from the data folder, which is generated on first use. It has to survive restarts, because keys,
 * sessions and credentials depend on it.
 */
function secretIn(dataDir, name) {
  const file = join(dataDir, name);
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const secret = randomBytes(32).toString('base64');
  writeFileSync(file, `${secret}\n`, { mode: 0o600, flag: 'wx' });
  return secret;
}

const END_WITH_PARENT = pathToFileURL(join(root, 'scripts/end-with-parent.mjs')).href;

/** Node.js flags that `npm start`, the images in the chart and those in Compose start with too. */
const NODE_FLAGS = ['--max-semi-space-size=32'];

/** Starts a program as a part of the mesh. The part ends with this process at the latest. */
export function startPart(name, file, env) {
  const args = [...NODE_FLAGS, '--import', END_WITH_PARENT, join(root, file)];
  const child = spawn(process.execPath, args, { env, cwd: root, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return Object.assign(child, { part: name });
}

/** Prints how a part has ended. The other parts keep running. */
export function sayWhenGone(child, say) {
  child.once('exit', (code, signal) => say(`${child.part} ended ${howEnded(code, signal)}; the other parts go on.`));
}

const howEnded = (code, signal) => (signal === null ? `with code ${code}` : `by ${signal}`);

function failed(child) {
  return new Promise((_, reject) =>
    child.once('exit', (code, signal) => reject(new Error(`${child.part} ended ${howEnded(code, signal)}`))),
  );
}

function finished(child) {
  return new Promise((resolve, reject) =>
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`bootstrap ended with ${code}`)))),
  );
}

function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', resolve);
    child.kill('SIGTERM');
  });
}

/** Timeout of a start in milliseconds. It is longer on a slow or busy machine (`COMMONPLACE_TEST_PATIENCE`). */
const START_MS = 60_000 * (Number(process.env.COMMONPLACE_TEST_PATIENCE) || 1);

/** Waits until a URL answers 200. Throws after `timeoutMs` milliseconds. */
export async function ready(url, timeoutMs = START_MS) {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const ok = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return;
    if (Date.now() > until) throw new Error(`${url} did not become ready in time`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const missing = ['COMMONPLACE_MONGODB_URL', 'COMMONPLACE_NATS_URL'].filter((name) => !process.env[name]);
  if (missing.length > 0) {
    console.error(`A mesh stores its records and events on servers: set ${missing.join(' and ')}.`);
    process.exit(EX_CONFIG);
  }
  build({ say: console.log });
  const mesh = await startMesh();
  const stop = () => mesh.stop().then(() => process.exit(0));
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
