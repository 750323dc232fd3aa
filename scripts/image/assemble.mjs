// Copies everything that one service needs to run to a folder: its compiled code, that of the workspace packages on
// which it depends, and their production dependencies as listed by npm. The final stage of the Dockerfile is a copy of
// that folder. Requires the output of `npm ci` and `npm run build`.
// usage: assemble.mjs SERVICE FOLDER (SERVICE: gateway, all, or the name of a service)
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

/** Parts of a workspace package that are needed at run time. A package without code is copied completely. */
const RUNS = ['package.json', 'dist/src', 'dist/gen', 'dist/schemas', 'gen/descriptors.binpb', 'gen/comments.binpb'];
/** Pages that a server shows, or with which it fills its first workspace. */
const PAGES = ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs'];
/**
 * Matches files for compilers, debuggers and tests. Below, packages for development, or for a C library that the base
 * image does not have.
 */
const DROPPED = /\.d\.[cm]?ts$|\.map$|\.tsbuildinfo$|\/dist\/src\/testing(\/|$)/;
const DROPPED_PACKAGES = /^@types\/|musl/;
/** Matches paths within third-party packages that are left out: nested packages, hidden files and tests. */
const HIDDEN = /\/(node_modules|\.[^/]+)(\/|$)|^\/(test|tests|__tests__|benchmarks?)(\/|$)|\.test\.[cm]?js$/;
/** Matches programs for other systems in a package that contains programs for every system. */
const ELSEWHERE = new RegExp(`^/bin/napi-v\\d+/(?!${process.platform}$|${process.platform}/${process.arch}(/|$))`);
const SOURCES = /\.[cm]?ts$/;

/** Assembles a service. Returns the paths of the included packages. */
export function assemble(service, folder) {
  const home = service === 'gateway' ? 'gateway' : `services/${service}`;
  if (!existsSync(join(root, home, 'dist/src/main.js'))) throw new Error(`${home} does not exist or is not built`);
  mkdirSync(folder, { recursive: true });
  // The image with everything in one process also contains the operator's commands, which use the same packages.
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

/**
 * Returns npm's bill of materials of the whole workspace. It is cached, because it takes seconds and is the same for
 * each service.
 */
function wholeBill() {
  whole ??= JSON.parse(npm('sbom', '--sbom-format', 'cyclonedx'));
  return whole;
}

/** Returns the folders of all packages that a package needs in production, including links of the workspace. */
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

/** Copies a workspace package to its relative path and creates the link by which Node finds it. */
function link(path, folder) {
  const home = realpathSync(path);
  const place = join(folder, relative(root, home));
  const parts = existsSync(join(home, 'dist')) ? RUNS.filter((part) => existsSync(join(home, part))) : ['.'];
  for (const part of parts) copy(join(home, part), join(place, part));
  const from = join(folder, relative(root, path));
  mkdirSync(dirname(from), { recursive: true });
  symlinkSync(relative(dirname(from), place), from);
}

/** Copies a package without its nested packages, which are listed separately if they are needed. */
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
