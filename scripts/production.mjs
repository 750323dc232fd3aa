// `npm run test:production`: checks that a copy of the checkout installs without development tools and without a
// warning about the version of Node.js, and that `npm start` builds and serves there. Ends with `N passed, N failed`.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './build.mjs';
import { run } from './chart/tools.mjs';
import { ready } from './mesh.mjs';
import { freePort } from './ports.mjs';
import { openTally } from './tally.mjs';

const READY_TIMEOUT_MS = 300_000;
/** Packages that are only needed for development. */
const FOR_DEVELOPMENT = [
  'typescript',
  'jest',
  '@biomejs/biome',
  'playwright-core',
  'testcontainers',
  'autocannon',
  'docx',
];

const { attempt, end } = openTally();

const folder = mkdtempSync(join(tmpdir(), 'commonplace-production-'));
const app = join(folder, 'app');
try {
  copySources();
  await attempt('npm ci --omit=dev', install);
  await attempt('npm start', serves);
  await attempt('npm run commonplace', operates);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
end();

/** Copies all files that git tracks or would track, without anything built or installed. */
function copySources() {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 16 << 20,
  });
  for (const file of listed.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))) {
    cpSync(join(root, file), join(app, file));
  }
}

async function install() {
  const { code, stdout, stderr } = await run('npm', ['ci', '--omit=dev', '--prefer-offline'], { cwd: app });
  if (code !== 0 || stderr.includes('EBADENGINE')) throw new Error(`${stdout}${stderr}`);
  const listed = await run('npm', ['ls', '--all', '--omit=dev'], { cwd: app });
  if (listed.code !== 0) throw new Error(listed.stderr);
  const strange = FOR_DEVELOPMENT.filter((name) => existsSync(join(app, 'node_modules', name)));
  if (strange.length > 0) throw new Error(`it installs ${strange.join(', ')}`);
  const size = execFileSync('du', ['-sh', 'node_modules'], { cwd: app, encoding: 'utf8' }).split('\t')[0];
  console.log(`production dependencies: ${size}`);
}

/** Checks two starts of the program. The second one must have nothing to build. */
async function serves() {
  const port = await freePort();
  const facts = join(folder, 'first.json');
  const env = { ...environment(), COMMONPLACE_PORT: String(port), COMMONPLACE_BOOTSTRAP_JSON: facts };
  const first = await start(env, `http://127.0.0.1:${port}`, async (url) => {
    const smoke = {
      ...env,
      COMMONPLACE_URL: url,
      COMMONPLACE_API_KEY: JSON.parse(readFileSync(facts, 'utf8')).api_key,
    };
    const { code, stdout, stderr } = await run(process.execPath, ['scripts/image/smoke.mjs'], { cwd: app, env: smoke });
    if (code !== 0) throw new Error(`${stdout}${stderr}`);
    for (const path of ['/docs', '/docs/api/resource', '/docs/explorer']) {
      const page = await fetch(url + path);
      if (!page.ok) throw new Error(`${path} answers ${page.status}`);
    }
  });
  if (!first.includes('Built in')) throw new Error(`the first start does not build: ${first}`);
  const second = await start(env, `http://127.0.0.1:${port}`, async () => {});
  if (second.includes('Built in')) throw new Error('the second start builds again');
}

async function start(env, url, act) {
  const child = spawn(process.execPath, ['scripts/start.mjs'], { cwd: app, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    await Promise.race([ready(`${url}/health/ready`, READY_TIMEOUT_MS), ended.then((code) => fail(code, said))]);
    await act(url);
  } finally {
    child.kill('SIGTERM');
  }
  const code = await ended;
  if (code !== 0) fail(code, said);
  return said;
}

function fail(code, said) {
  throw new Error(`ended with ${code}: ${said}`);
}

async function operates() {
  const { code, stdout, stderr } = await run('npm', ['run', '--silent', 'commonplace', '--', '--help'], {
    cwd: app,
    env: environment(),
  });
  if (code !== 0 || !stdout.includes('doctor')) throw new Error(`${stdout}${stderr}`);
}

/** Returns the environment of a user, without any reference to this checkout or its settings. */
function environment() {
  const own = Object.entries(process.env).filter(([name]) => !/^(COMMONPLACE|npm)_/.test(name));
  const path = (process.env.PATH ?? '').split(':').filter((one) => !one.startsWith(root));
  return { ...Object.fromEntries(own), PATH: [dirname(process.execPath), ...path].join(':') };
}
