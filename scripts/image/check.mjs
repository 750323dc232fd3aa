// `npm run test:image`: checks the images without an engine to build them. hadolint checks the Dockerfile. The files of
// each final stage are assembled in an empty folder and run there with only Node, as the image's user. The image with
// everything in it is also written to, read and searched. Ends with `N passed, N failed, N skipped`.
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../build.mjs';
import { run, tool } from '../chart/tools.mjs';
import { ready } from '../mesh.mjs';
import { freePort } from '../ports.mjs';
import { openTally } from '../tally.mjs';
import { assemble } from './assemble.mjs';
import { NAMES } from './names.mjs';

const USER = 65_532;
/** Matches files that must not be in a final stage. */
const STRANGERS =
  /(^|\/)node_modules\/(typescript|jest|@jest\/|@biomejs|@bufbuild\/buf|ts-proto|playwright|testcontainers|npm)(\/|$)|\.[cm]?ts$|\.test\.js$|(^|\/)\.[^./]/;
const DOCKERFILE = readFileSync(join(root, 'Dockerfile'), 'utf8');

const { attempt, skip, end } = openTally();

const folder = mkdtempSync(join(tmpdir(), 'commonplace-image-'));
try {
  chmodSync(folder, 0o755);
  // Other users can't read the cache of tools, so the program is copied.
  const node = join(folder, 'node');
  copyFileSync(await tool('node24'), node);
  await attempt('hadolint', () => lint(DOCKERFILE));
  await attempt('hadolint (seen refusing)', () =>
    refuse(() => lint(DOCKERFILE.replace('24-bookworm', '').replaceAll(':nonroot', ''))),
  );
  await attempt('the final stage', () => finalStage(DOCKERFILE));
  await attempt('the final stage (seen refusing)', () => refuse(() => finalStage(`${DOCKERFILE}RUN npm install\n`)));
  for (const service of NAMES) {
    const app = join(folder, service);
    const packages = assemble(service, app);
    const files = readdirSync(app, { recursive: true });
    console.log(`commonplace-${service}: ${packages.length} packages, ${files.length} files, ${sizeOf(app)}`);
    await attempt(`${service}: contains only what runs`, () => nothingStrange(files));
    await attempt(`${service}: its bill of materials`, () => bill(app, packages));
    await attempt(`${service}: starts with Node alone`, () => startsAlone(node, app));
    if (service !== 'all') rmSync(app, { recursive: true });
  }
  await attempt('contains only what runs (seen refusing)', () =>
    refuse(() => nothingStrange(['node_modules/typescript/lib/tsc.js'])),
  );
  await attempt('all: migrates, serves, is written to, read and searched', () => serves(node, join(folder, 'all')));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
skip('the images themselves are not built: there is no container engine here');
end();

async function refuse(act) {
  const refused = await Promise.resolve()
    .then(act)
    .then(
      () => false,
      () => true,
    );
  if (!refused) throw new Error('it is accepted');
}

async function lint(text) {
  const { code, stdout } = await run(await tool('hadolint'), ['-'], { input: text });
  if (code !== 0) throw new Error(stdout);
}

/** Checks that the last stage only copies, runs as a numeric user, and has the required labels. */
function finalStage(text) {
  const stage = text.slice(text.lastIndexOf('\nFROM ')).replaceAll('\\\n', ' ').split('\n');
  const lines = stage.filter((line) => /^[A-Z]+ /.test(line));
  const of = (word) => lines.filter((line) => line.startsWith(`${word} `));
  if (of('RUN').length + of('ADD').length > 0) throw new Error('the final stage has RUN or ADD instructions');
  // Copies of the program, and of the folder from which a new volume gets its owner.
  const copies = ['COPY --from=build /out /app', 'COPY --from=build --chown=65532:65532 /data /data'];
  if (of('COPY').join('\n') !== copies.join('\n')) throw new Error('the final stage copies other files');
  if (!/^USER [1-9]\d*:[1-9]\d*$/.test(of('USER').join())) throw new Error('the user of the image is not numeric');
  for (const label of ['title', 'description', 'version', 'revision', 'licenses', 'base.name']) {
    if (!of('LABEL').join().includes(`org.opencontainers.image.${label}=`))
      throw new Error(`the image has no label ${label}`);
  }
}

function nothingStrange(files) {
  const strange = files.filter((file) => STRANGERS.test(file));
  if (strange.length > 0) throw new Error(`${strange.length} of them: ${strange.slice(0, 5).join(', ')}`);
}

function bill(app, packages) {
  const { bomFormat, components } = JSON.parse(readFileSync(join(app, 'sbom.cdx.json'), 'utf8'));
  const known = new Set(components.map((component) => component['bom-ref']));
  const different = new Set(packages.map((path) => path.slice(path.lastIndexOf('node_modules/') + 13)));
  const named = [...different].filter((name) => [...known].some((ref) => ref.startsWith(`${name}@`)));
  // The bill describes the service itself, which is not one of its components.
  if (bomFormat !== 'CycloneDX' || named.length + 1 < different.size)
    throw new Error('the bill of materials is incomplete');
}

function sizeOf(app) {
  return execFileSync('du', ['-sh', app], { encoding: 'utf8' }).split('\t')[0];
}

/** Returns options for a process with only the environment that the image sets. */
function options(app, env = {}) {
  const own = process.getuid() === 0 ? { uid: USER, gid: USER } : {};
  return { cwd: app, env: { NODE_ENV: 'production', ...env }, ...own };
}

/** Runs the migration like the chart does before the process starts. */
async function migrates(node, app, env, option) {
  const { code, stdout, stderr } = await run(node, ['commonplace.mjs', 'migrate', option], options(app, env));
  if (code !== 0 || stdout !== 'Nothing is pending.\n') throw new Error(`migrate ${option}: ${stdout}${stderr}`);
}

/** Checks that a service starts with only Node. `--help` loads every module of a start, but reads no settings. */
async function startsAlone(node, app) {
  const { code, stdout, stderr } = await run(node, ['main.mjs', '--help'], options(app));
  if (code !== 0 || !stdout.startsWith('Settings')) throw new Error(stderr);
}

async function serves(node, app) {
  const data = join(folder, 'data');
  const tmp = join(folder, 'tmp');
  for (const place of [data, tmp]) {
    mkdirSync(place);
    if (process.getuid() === 0) chownSync(place, USER, USER);
  }
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const facts = join(data, 'first.json');
  const env = {
    COMMONPLACE_PORT: String(port),
    COMMONPLACE_DATA_DIR: data,
    COMMONPLACE_BOOTSTRAP_JSON: facts,
    TMPDIR: tmp,
  };
  await migrates(node, app, env, '--new');
  const child = spawn(node, ['main.mjs'], { ...options(app, env), stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    await ready(`${url}/health/ready`);
    while (!existsSync(facts)) await new Promise((resolve) => setTimeout(resolve, 50));
    const key = JSON.parse(readFileSync(facts, 'utf8')).api_key;
    const smoke = { COMMONPLACE_URL: url, COMMONPLACE_API_KEY: key };
    const { code, stdout, stderr } = await run(node, ['smoke.mjs'], options(app, smoke));
    if (code !== 0) throw new Error(`${stdout}${stderr}`);
    const without = await run(node, ['smoke.mjs'], options(app, { ...smoke, COMMONPLACE_API_KEY: `${key}x` }));
    if (without.code === 0) throw new Error('the test passes with a wrong key');
    await migrates(node, app, env, '--check');
  } finally {
    child.kill('SIGTERM');
  }
  const code = await ended;
  if (code !== 0) throw new Error(`SIGTERM ended it with ${code}`);
}
