// `npm run test:containers`: runs the suites that need servers on the official images of MongoDB, NATS and Typesense.
// The S3 server is the same as in other tests. Without a Docker engine, it prints that it skips the suites and exits
// with 0.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { root } from './build.mjs';
import { installTool, s3Url, startS3, TYPESENSE_KEY } from './servers.mjs';

const MONGODB_IMAGE = 'mongo:8.0.16';
const NATS_IMAGE = 'nats:2.12.2-alpine';
const TYPESENSE_IMAGE = 'typesense/typesense:29.0';

try {
  await getContainerRuntimeClient();
} catch {
  console.log('skipped: no Docker engine here, so the suites did not run on container images');
  process.exit(0);
}

const mongo = await new GenericContainer(MONGODB_IMAGE)
  .withExposedPorts(27017)
  .withCommand(['--replSet', 'rs0', '--bind_ip_all'])
  .withWaitStrategy(Wait.forLogMessage(/Waiting for connections/))
  .start();
const nats = await new GenericContainer(NATS_IMAGE)
  .withExposedPorts(4222)
  .withCommand(['-js'])
  .withWaitStrategy(Wait.forLogMessage(/Server is ready/))
  .start();
const typesense = await new GenericContainer(TYPESENSE_IMAGE)
  .withExposedPorts(8108)
  .withCommand(['--data-dir', '/tmp', '--api-key', TYPESENSE_KEY])
  .withWaitStrategy(Wait.forHttp('/health', 8108).forStatusCode(200))
  .start();
const objects = mkdtempSync(join(tmpdir(), 'commonplace-objects-'));
const s3 = await startS3(await installTool('versitygw'), objects);
try {
  await initiate(mongo);
  const code = await run({
    // The member of the replica set has another name inside the container, so the driver must connect directly.
    COMMONPLACE_MONGODB_URL: `mongodb://${mongo.getHost()}:${mongo.getMappedPort(27017)}/?directConnection=true`,
    COMMONPLACE_NATS_URL: `nats://${nats.getHost()}:${nats.getMappedPort(4222)}`,
    COMMONPLACE_S3_URL: s3Url(s3),
    COMMONPLACE_TYPESENSE_URL: `http://${typesense.getHost()}:${typesense.getMappedPort(8108)}`,
    COMMONPLACE_TYPESENSE_API_KEY: TYPESENSE_KEY,
  });
  process.exitCode = code;
} finally {
  await Promise.all([mongo.stop(), nats.stop(), typesense.stop(), s3.stop()]);
  rmSync(objects, { recursive: true, force: true });
}

/** Creates a replica set with one member, because transactions need one, and waits until it has a primary. */
async function initiate(container) {
  const script = `
    try { rs.initiate({ _id: 'rs0', members: [{ _id: 0, host: 'localhost:27017' }] }) } catch (e) {}
    while (!db.hello().isWritablePrimary) sleep(100)`;
  const { exitCode, output } = await container.exec(['mongosh', '--quiet', '--eval', script]);
  if (exitCode !== 0) throw new Error(`the replica set can't be created: ${output}`);
}

function run(env) {
  const child = spawn(process.execPath, [join(root, 'scripts/test.mjs'), '--servers'], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}
