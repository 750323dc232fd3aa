// Puts what one service needs to run into a folder: its compiled code, that of the packages of this workspace that it
// stands on, and the production dependencies of these as npm tells them. The final stage of the Dockerfile is a copy of
// that folder. Needs what `npm ci` and `npm run build` make.
// usage: assemble.mjs SERVICE FOLDER      SERVICE: gateway, all, or the name of a service
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../build.mjs';
import { billOf } from './bill.mjs';

/** Of a workspace's package, what runs; of one without code all. */
const RUNS = ['package.json', 'dist/src', 'dist/gen', 'gen/descriptors.binpb', 'gen/comments.binpb'];
/** Pages that a server shows, or fills its first workspace with. */
const PAGES = ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs'];
/** What is there for compilers and debuggers, for tests, and for a C library that the base image does not have. */
const DROPPED = /\.d\.[cm]?ts$|\.map$|\.tsbuildinfo$|\/dist\/src\/testing(\/|$)/;
const DROPPED_PACKAGES = /^@types\/|musl/;
/** Of a package of somebody else: packages within, what is hidden, its own tests. */
const HIDDEN = /\/(node_modules|\.[^/]+)(\/|$)|^\/(test|tests|__tests__|benchmarks?)(\/|$)|\.test\.[cm]?js$/;
/** Of a package that has programs for every system in one: those of others. */
const ELSEWHERE = new RegExp(`^/bin/napi-v\\d+/(?!${process.platform}$|${process.platform}/${process.arch}(/|$))`);
const SOURCES = /\.[cm]?ts$/;

/** Assembles a service. Gives the packages that went in. */
export function assemble(service, folder) {
  const home = service === 'gateway' ? 'gateway' : `services/${service}`;
  if (!existsSync(join(root, home, 'dist/src/main.js'))) throw new Error(`${home} is not there, or not built`);
  mkdirSync(folder, { recursive: true });
  // With everything in one process come the operator's commands, which stand on the same packages.
  const packages = [...new Set(service === 'all' ? [...closure(home), ...closure('cli')] : closure(home))];
  for (const path of packages) {
    if (statSync(path).isDirectory() && realpathSync(path) !== path) link(path, folder);
    else copyPackage(path, join(folder, relative(root, path)));
  }
  for (const page of PAGES) if (existsSync(join(root, page))) copy(join(root, page), join(folder, page));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ private: true, type: 'module' })}\n`);
  writeFileSync(join(folder, 'main.mjs'), `import './${home}/dist/src/main.js';\n`);
  if (service === 'all') {
    writeFileSync(join(folder, 'bootstrap.mjs'), `import './${home}/dist/src/bootstrap.js';\n`);
    writeFileSync(join(folder, 'commonplace.mjs'), "import './cli/dist/src/main.js';\n");
  }
  cpSync(join(root, 'scripts/image/smoke.mjs'), join(folder, 'smoke.mjs'));
  const installed = packages.map((path) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')));
  writeFileSync(join(folder, 'sbom.cdx.json'), JSON.stringify(billOf(wholeBill(), service, installed), null, 1));
  return packages;
}

let whole;

/** npm's bill of the whole workspace, which takes it seconds and is the same for each service. */
function wholeBill() {
  whole ??= JSON.parse(npm('sbom', '--sbom-format', 'cyclonedx'));
  return whole;
}

/** The folders of everything that a package needs in production, links of the workspace included. */
function closure(home) {
  const listed = npm('ls', '--all', '--omit=dev', '--parseable', '-w', home).split('\n');
  return listed.filter((path) => path !== '' && path !== root && !DROPPED_PACKAGES.test(packageName(path)));
}

function packageName(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function npm(...args) {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'ignore'] };
  return execFileSync('npm', args, options);
}

/** A package of this workspace lies where it lies here, and is found by a link. */
function link(path, folder) {
  const home = realpathSync(path);
  const place = join(folder, relative(root, home));
  const parts = existsSync(join(home, 'dist')) ? RUNS.filter((part) => existsSync(join(home, part))) : ['.'];
  for (const part of parts) copy(join(home, part), join(place, part));
  const from = join(folder, relative(root, path));
  mkdirSync(dirname(from), { recursive: true });
  symlinkSync(relative(dirname(from), place), from);
}

/** Packages inside of a package are listed themselves, if they are needed. */
function copyPackage(path, to) {
  const strange = [HIDDEN, ELSEWHERE, SOURCES];
  copy(path, to, (inner) => !strange.some((pattern) => pattern.test(inner.slice(path.length))));
}

function copy(from, to, also = () => true) {
  cpSync(from, to, { recursive: true, filter: (path) => !DROPPED.test(path.slice(root.length)) && also(path) });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [service, folder] = process.argv.slice(2);
  if (!service || !folder) {
    console.error(`usage: ${basename(process.argv[1])} SERVICE FOLDER`);
    process.exit(64);
  }
  const packages = assemble(service, folder);
  const { length } = readFileSync(join(folder, 'sbom.cdx.json'), 'utf8');
  console.log(`${service}: ${packages.length} packages in ${folder}, ${length} bytes of SBOM`);
}
