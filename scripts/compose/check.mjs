// `npm run test:compose`: checks the Compose files without an engine. Loads them with the library of `docker compose`.
// Images have to be ours or pinned, and each process has to accept its settings and to have everything that it needs.
// Ends with `N passed, N failed`.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '../build.mjs';
import { readFacts } from '../chart/facts.mjs';
import { openComplaints } from '../chart/settings.mjs';
import { run, tool } from '../chart/tools.mjs';
import { NAMES } from '../image/names.mjs';
import { SERVICES } from '../mesh.mjs';
import { openTally } from '../tally.mjs';

const FOLDER = join(root, 'deploy/compose');
/** Images of others that the files may name in any version. */
const SERVERS = ['mongo', 'nats', 'typesense/typesense', 'versity/versitygw'];
const KEY = 'ab'.repeat(32);
const SECRETS = {
  ...{ COMMONPLACE_MESH_KEY: KEY, COMMONPLACE_SECRET_KEY: KEY, COMMONPLACE_SECRETS_KEY: KEY },
  ...{ COMMONPLACE_OWNER_PASSWORD: 'of the owner', S3_SECRET_KEY: KEY, TYPESENSE_API_KEY: KEY },
};
/**
 * Components for the check of settings that correspond to programs of the image `all`, by the first word of their
 * command.
 */
const COMPONENTS = { 'bootstrap.mjs': 'bootstrap', 'commonplace.mjs': 'migration' };

const { check, refuses, end } = openTally();

const work = await mkdtemp(join(tmpdir(), 'commonplace-compose-'));
try {
  const facts = await readFacts();
  const complaints = await openComplaints();
  for (const file of ['embedded', 'mesh']) await checkFile(file, { facts, complaints });
  await checkReadme();
} finally {
  await rm(work, { recursive: true, force: true });
}
end();

async function load(path, env) {
  const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const { code, stdout, stderr } = await run(await tool('compose'), [path, ...pairs], { cwd: work, env: {} });
  return code === 0 ? { project: JSON.parse(stdout) } : { fault: stderr.trim() };
}

async function checkFile(file, { facts, complaints }) {
  const path = join(FOLDER, `${file}.yaml`);
  const { project, fault } = await load(path, file === 'mesh' ? SECRETS : {});
  check(`${file} is loaded`, fault === undefined ? [] : [fault]);
  if (project === undefined) return;
  const text = await readFile(path, 'utf8');
  for (const [name, from, to] of [
    ['an unknown key', 'read_only: true', 'readonly: true'],
    ['a volume that is not there', '"data:/data"', '"nowhere:/data"'],
    ['a service that is not there', 'migration: {', 'migrations: {'],
  ]) {
    if (!text.includes(from)) continue;
    const broken = join(work, 'broken.yaml');
    await writeFile(broken, text.replaceAll(from, to));
    refuses(`${file} with ${name}`, [(await load(broken, SECRETS)).fault].filter(Boolean));
  }
  if (file === 'mesh') {
    for (const name of Object.keys(SECRETS)) {
      const { [name]: _, ...rest } = SECRETS;
      refuses(`mesh without ${name}`, [(await load(path, rest)).fault].filter(Boolean));
    }
  }
  const services = Object.entries(project.services);
  const ours = services.filter(([, { image }]) => image.includes('commonplace-'));
  check(
    `${file}: images`,
    services.flatMap(([name, service]) => imageFaults(name, service)),
  );
  check(
    `${file}: restricted`,
    ours.flatMap(([name, service]) => restrictionFaults(name, service)),
  );
  check(
    `${file}: ports are on the loopback interface`,
    services.flatMap(([name, { ports = [] }]) =>
      ports.filter(({ host_ip }) => host_ip !== '127.0.0.1').map(({ target }) => `${name}: ${target}`),
    ),
  );
  check(
    `${file}: volumes are used`,
    Object.keys(project.volumes).filter(
      (volume) => !services.some(([, { volumes = [] }]) => volumes.some(({ source }) => source === volume)),
    ),
  );
  check(
    `${file}: settings`,
    ours.flatMap(([name, service]) => settingFaults(complaints, name, service)),
  );
  const [first] = structuredClone(ours.filter(([, { environment }]) => environment.COMMONPLACE_PORT));
  first[1].environment.COMMONPLACE_PORT = 'banana';
  refuses(`${file}: settings`, settingFaults(complaints, ...first));
  if (file === 'mesh') checkMesh(project.services, facts);
}

function imageFaults(name, { image }) {
  const [, repository = '', tag = ''] = /^(.+):([^:/]+)$/.exec(image) ?? [];
  if (tag === '' || tag === 'latest') return [`${name} runs ${image}, which is not pinned`];
  const own = repository.startsWith('commonplace-') && NAMES.includes(repository.slice('commonplace-'.length));
  return own || SERVERS.includes(repository) ? [] : [`${name} runs ${image}, which is not built here`];
}

function restrictionFaults(name, service) {
  const faults = [];
  if (service.read_only !== true) faults.push('writes its root');
  if (service.user !== '65532:65532') faults.push('is not the user of the image');
  if (service.cap_drop?.join() !== 'ALL') faults.push('has capabilities');
  if (!service.security_opt?.includes('no-new-privileges:true')) faults.push('may gain privileges');
  const hasTmp =
    service.tmpfs?.some((one) => /^\/tmp:size=/.test(one)) || service.volumes?.some(({ target }) => target === '/tmp');
  if (!hasTmp) faults.push('has no /tmp with a limit');
  return faults.map((fault) => `${name} ${fault}`);
}

/** Returns the faults of the settings that the process would report at its start. */
function settingFaults(complaints, name, { environment, image, command }) {
  const [, program] = /commonplace-([a-z]+):/.exec(image);
  const component = program === 'all' ? (COMPONENTS[command?.[0]] ?? 'all') : program;
  if (component === 'migration' && environment.COMMONPLACE_DATA_DIR !== undefined) return [];
  const env = Object.entries(environment).map(([variable, value]) => ({ name: variable, value }));
  const metadata = { labels: { 'app.kubernetes.io/component': component } };
  return complaints({ metadata, spec: { containers: [{ env }] } }).map((fault) => `${name}: ${fault}`);
}

/** Checks that each service exists under the name by which others call it, and has the servers that it needs. */
function checkMesh(services, facts) {
  check(
    'mesh: every service is there',
    ['gateway', ...SERVICES].filter((name) => services[name] === undefined),
  );
  const needs = Object.entries(facts.services).flatMap(([name, { stores, secrets, settings, internet }]) => {
    const { environment = {}, networks = {} } = services[name] ?? {};
    const wanted = [
      ...(stores ? ['COMMONPLACE_MONGODB_URL', 'COMMONPLACE_NATS_URL'] : []),
      ...['COMMONPLACE_S3_URL'].filter((one) => secrets.includes(one)),
      ...['COMMONPLACE_TYPESENSE_URL'].filter((one) => settings.includes(one)),
    ];
    const missing = wanted.filter((one) => !environment[one]).map((one) => `${name} has no ${one}`);
    if (internet && !('outside' in networks)) missing.push(`${name} does not reach the internet`);
    return missing;
  });
  check('mesh: every service has the servers that it needs', needs);
  const hosts = Object.values(services).flatMap(({ environment = {} }) =>
    Object.entries(environment).flatMap(([variable, value]) => {
      const [, host] = /^(?:mongodb|nats|http):\/\/([a-z0-9]+):\d+/.exec(value ?? '') ?? [];
      return host === undefined || services[host] !== undefined ? [] : [`${variable} names ${host}`];
    }),
  );
  check('mesh: servers are services of the file', hosts);
}

/** Checks that the README names every required variable. */
async function checkReadme() {
  const readme = await readFile(join(FOLDER, 'README.md'), 'utf8');
  const text = await readFile(join(FOLDER, 'mesh.yaml'), 'utf8');
  const needed = new Set([...text.matchAll(/\$\{([A-Z_0-9]+):\?/g)].map(([, name]) => name));
  check(
    'README names each required variable',
    [...needed].filter((name) => !readme.includes(`${name}=`)),
  );
  check(
    'the secrets of this check are those',
    [...needed].filter((name) => SECRETS[name] === undefined),
  );
  parse(text);
}
