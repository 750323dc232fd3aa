// Starts real servers for tests on free loopback ports: MongoDB's protocol, NATS JetStream, S3's protocol and
// Typesense.
import { execFile, spawn } from 'node:child_process';
import { chmod, chown, copyFile, link, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { quickFolder } from './memory.mjs';
import { freePort } from './ports.mjs';

/** Timeout in milliseconds for the start of a server, and for its stop before it is killed. */
const PATIENCE = 15_000;

/** Installs a tool of `scripts/tools` if it is missing. Returns the path of its program. */
export async function installTool(name) {
  const script = join(import.meta.dirname, 'tools', `${name}.sh`);
  const child = promisify(execFile)('bash', [script], { maxBuffer: 16 << 20 });
  child.child.stderr.pipe(process.stderr);
  return (await child).stdout.trim();
}

/**
 * Starts all servers. Their data are below `dir`, or in temporary folders that `stop` deletes. Returns the settings by
 * which Commonplace finds the servers, and `stop`.
 */
export async function startServers({ dir } = {}) {
  const secantus = await installTool('secantus');
  const nats = await installTool('nats');
  const versitygw = await installTool('versitygw');
  const typesense = await installTool('typesense');
  const home = dir ?? (await mkdtemp(join(tmpdir(), 'commonplace-servers-')));
  const quick = dir ?? quickFolder('commonplace-servers', ROOM);
  const started = await Promise.allSettled([
    startMongo(secantus, join(quick, 'mongo')),
    startNats(nats, join(home, 'nats')),
    startS3(versitygw, join(home, 's3')),
    startTypesense(typesense, join(home, 'typesense'), join(quick, 'index')),
  ]);
  const running = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async () => {
    // Data in temporary folders need not be flushed, because they are not read again.
    await Promise.all(running.map((server) => server.stop(dir === undefined ? 'SIGKILL' : 'SIGTERM')));
    if (dir !== undefined) return;
    for (const folder of [home, quick]) await rm(folder, { recursive: true, force: true });
  };
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  const [mongo, broker, s3, searched] = running;
  return {
    env: {
      COMMONPLACE_MONGODB_URL: `mongodb://127.0.0.1:${mongo.port}/?replicaSet=secantus`,
      COMMONPLACE_NATS_URL: `nats://127.0.0.1:${broker.port}`,
      COMMONPLACE_S3_URL: s3Url(s3),
      COMMONPLACE_TYPESENSE_URL: `http://127.0.0.1:${searched.port}`,
      COMMONPLACE_TYPESENSE_API_KEY: TYPESENSE_KEY,
    },
    servers: { mongo, nats: broker, s3, typesense: searched },
    stop,
  };
}

/** Memory in bytes that must be free for the servers of several concurrent meshes. */
const ROOM = 2 * 2 ** 30;

/** Starts a server with MongoDB's protocol that syncs every acknowledged write. `port` 0 selects a free port. */
export async function startMongo(program, data, port = 0) {
  await mkdir(data, { recursive: true });
  const place = ['--host', '127.0.0.1', '--port', String(port), '--storage-path', data];
  const limits = ['--sync-on-commit', '--cache-size', '256M', '--log-file-max', '16MB', '--log-level', 'WARNING'];
  return startServer(program, [...place, ...limits], /listening on 127\.0\.0\.1:(\d+)/);
}

/** Starts a small real chat model with an OpenAI-compatible API on a free port. */
export async function startChatModel(program) {
  return startServer(program, ['0'], /listening on http:\/\/127\.0\.0\.1:(\d+)\s/);
}

/** Starts NATS with JetStream. `port` -1 selects a free port. */
export async function startNats(program, data, port = -1) {
  await mkdir(data, { recursive: true });
  const args = ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', data];
  return startServer(program, args, /Listening for client connections on 127\.0\.0\.1:(\d+)[\s\S]*Server is ready/);
}

const BUCKET = 'commonplace';
const S3_KEY = 'commonplace';
const S3_SECRET = 'for-tests-alone';

/** Returns the setting by which Commonplace finds a server of `startS3`. */
export function s3Url({ port }) {
  return `http://${S3_KEY}:${S3_SECRET}@127.0.0.1:${port}/${BUCKET}`;
}

/** Starts a server with S3's protocol on a folder, with one bucket. The default of `port` is a free port. */
export async function startS3(program, data, port) {
  // Metadata is stored next to the objects, because not every file system for temporary folders has extended
  // attributes.
  const [objects, metadata] = [join(data, 'objects'), join(data, 'metadata')];
  await mkdir(join(objects, BUCKET), { recursive: true });
  await mkdir(metadata, { recursive: true });
  const listen = port ?? (await freePort());
  const env = { ROOT_ACCESS_KEY: S3_KEY, ROOT_SECRET_KEY: S3_SECRET };
  const args = ['--port', `127.0.0.1:${listen}`, 'posix', '--sidecar', metadata, objects];
  return startServer(program, args, new RegExp(`listening on:[\\s\\S]*:(${listen})`), env);
}

/** API key of servers that `startTypesense` starts. */
export const TYPESENSE_KEY = 'for-tests-alone';

const NOBODY = 65_534;

/** Starts Typesense with its index in `place`. The program comes from a third party, so it never runs as root. */
export async function startTypesense(program, data, place = join(data, 'data')) {
  for (const folder of [data, place]) await mkdir(folder, { recursive: true });
  if (process.getuid?.() !== 0) return serveTypesense(program, place, {});
  await chown(place, NOBODY, NOBODY);
  // Other users can't read root's folders. The program is therefore linked or copied, and the path to it made
  // accessible.
  const own = join(data, 'typesense-server');
  await link(program, own).catch(() => copyFile(program, own));
  for (const folder of [data, place]) await chmod(join(folder, '..'), 0o711);
  await chmod(data, 0o711);
  return serveTypesense(own, place, { uid: NOBODY, gid: NOBODY });
}

/** Starts Typesense on free ports. They are selected here, because Typesense does not accept port 0. */
async function serveTypesense(program, place, user) {
  const [port, peering] = [await freePort(), await freePort()];
  const args = ['--data-dir', place, '--api-key', TYPESENSE_KEY, '--enable-cors=false', '--thread-pool-size=8'];
  args.push('--api-address', '127.0.0.1', '--api-port', String(port));
  args.push('--peering-address', '127.0.0.1', '--peering-port', String(peering));
  const ready = new RegExp(`peering service is running on 127\\.0\\.0\\.1:(${peering})`);
  const server = await startServer(program, args, ready, {}, user);
  await answers(`http://127.0.0.1:${port}/health`);
  return { ...server, port };
}

/** Waits until a URL answers 200. Throws after `PATIENCE` milliseconds. */
async function answers(url) {
  const until = Date.now() + PATIENCE;
  for (;;) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    if (Date.now() > until) throw new Error(`${url} does not answer`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Processes of the running servers, which end with this process unless it is killed. */
const children = new Set();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts a program and waits for the line of output that contains its port. */
async function startServer(program, args, ready, env = {}, user = {}) {
  const stdio = ['ignore', 'pipe', 'pipe'];
  const child = spawn(program, args, { stdio, env: { ...process.env, ...env }, ...user });
  children.add(child);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  void exited.then(() => children.delete(child));
  let output = '';
  const port = await new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`${program} ${why}\n${output.slice(-2000)}`));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail('was not ready in time');
    }, PATIENCE);
    const read = (chunk) => {
      output = `${output}${chunk}`.slice(-20_000);
      const match = ready.exec(output);
      if (match === null) return;
      clearTimeout(timer);
      resolve(Number(match[1]));
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', (error) => fail(`did not start: ${error.message}`));
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(`ended with code ${code}`);
    });
  });
  const stop = async (signal = 'SIGTERM') => {
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
    await exited;
    clearTimeout(timer);
  };
  return { port, pid: child.pid, stop };
}
