// Bundles the code of all programs into scripts and has the engine compile them, because Node takes about a millisecond
// to load each of their thousand modules, and compiles them at each start. Code that only some programs need, or that is
// loaded on demand, has scripts of its own. A program starts from the bundle as long as none of its sources has changed,
// and otherwise from the modules (kit/src/program).
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import { BUNDLE_NOTE, root } from './build.mjs';
import { SERVICES } from './mesh.mjs';

const folder = dirname(BUNDLE_NOTE);
/** Milliseconds for which files of former builds stay, because running programs load some of them on demand. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** Entry points by the program names that the `main.ts` files pass. Each exports `start`. */
const PROGRAMS = {
  ...Object.fromEntries(['all', ...SERVICES].map((name) => [name, `services/${name}/dist/src/serve.js`])),
  gateway: 'gateway/dist/src/serve.js',
  bootstrap: 'services/all/dist/src/make-owner.js',
  cli: 'cli/dist/src/run.js',
  inspect: 'cli/dist/src/doctor/inspect.js',
};
/** Modules with which threads start (`startThread` of kit/src/program). Each runs when it is loaded. */
const THREADS = [
  'adapters/dist/src/sqlite/file/writer.js',
  'adapters/dist/src/sqlite/file/scan-thread.js',
  'gateway/dist/src/docs/thread.js',
  'gateway/dist/src/large-bodies/thread.js',
  'gateway/dist/src/mcp/answers/thread.js',
  'gateway/dist/src/mcp/catalogue/thread.js',
  'services/agents/dist/src/schemas/thread.js',
  'services/agents/dist/src/skill-files/thread.js',
  'services/files/dist/src/imports/thread/source-thread.js',
  'services/resources/dist/src/documents/kind/deriver-thread.js',
  'services/resources/dist/src/tables/planner-thread.js',
  'services/search/dist/src/index/sqlite/worker.js',
];
/** File that `npm install` rewrites whenever the installed packages change. */
const INSTALLED = 'node_modules/.package-lock.json';

/** Returns whether a file is an ES module by Node's rules. CommonJS files resolve their dependencies differently. */
const kinds = new Map();
function isModule(path) {
  if (path.endsWith('.mjs')) return true;
  return path.endsWith('.js') && isModuleFolder(dirname(path));
}

function isModuleFolder(path) {
  let kind = kinds.get(path);
  if (kind === undefined) {
    const file = join(path, 'package.json');
    kind = existsSync(file)
      ? JSON.parse(readFileSync(file, 'utf8')).type === 'module'
      : path !== dirname(path) && isModuleFolder(dirname(path));
    kinds.set(path, kind);
  }
  return kind;
}

/**
 * CommonJS packages that are bundled nevertheless, with everything that they require. Without that, Node would find,
 * read and compile 340 of their files at each start of a service and of the gateway. None of them depends on its own
 * path, has native code or is loaded by a package outside the bundle.
 */
const TAKEN = new RegExp(
  `/node_modules/(${[
    'koa',
    '@koa/cors',
    'koa-compose',
    'raw-body',
    'content-disposition',
    'proxy-addr',
    'ipaddr.js',
    'rate-limiter-flexible',
    'iconv-lite',
    'yauzl',
    'tar-stream',
    'wink-porter2-stemmer',
    'debug',
    'commander',
    'mongodb',
    '@nats-io/[^/]+',
    '@aws-sdk/(client-s3|s3-request-presigner)',
  ].join('|')})/`,
);
/** The flags with which programs are started: by default, and where many requests are expected. */
const FLAGS = [[], ['--max-semi-space-size=32']];
/** Exports a function for each program that loads its modules. */
const ENTRY = `export const programs = { ${Object.entries(PROGRAMS)
  .map(([name, path]) => `${name}: () => import('./${path}')`)
  .join(', ')} };`;

/**
 * Keeps other CommonJS packages outside the bundle, resolved like from their importers, and gives every file its
 * original URL.
 */
const places = {
  name: 'places',
  setup(bundle) {
    bundle.onResolve({ filter: /./ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
      if (pluginData === places) return undefined;
      const found = await bundle.resolve(path, { importer, resolveDir, kind, pluginData: places });
      const required = kind === 'require-call';
      // An optional package is resolved again at run time.
      if (required && found.errors.length > 0) return { path, external: true };
      if (found.errors.length > 0 || found.external || isModule(found.path)) return found;
      if (required || TAKEN.test(found.path)) return found;
      return { path: relative(folder, found.path), external: true };
    });
    bundle.onLoad({ filter: /\.m?js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta')) return undefined;
      if (/import\.meta\.(?!url\b)/.test(text)) throw new Error(`${path} uses more of import.meta than its URL`);
      const url = `new URL(${JSON.stringify(relative(folder, path))}, __url).href`;
      return { contents: text.replaceAll('import.meta.url', url), loader: 'js' };
    });
  },
};

/**
 * Has modules of the bundle loaded on demand by `__load`. esbuild itself would treat them like CommonJS packages, whose
 * default export is the whole module.
 */
const onDemand = {
  name: 'on-demand',
  setup(bundle) {
    bundle.onLoad({ filter: /\.mjs$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(/\bimport\((?="\.\/[^"]+\.mjs"\))/g, '__load('),
      loader: 'js',
    }));
  },
};

/** Options of both passes. Packages are resolved as in Node, because bundlers are offered files that Node does not run. */
const shared = {
  outdir: folder,
  platform: 'node',
  target: 'node20',
  mainFields: ['main'],
  conditions: [],
  sourcemap: 'linked',
  sourcesContent: false,
  absWorkingDir: root,
  logLevel: 'error',
};

/**
 * Makes scripts of some entry points and all that they need, divided by what they share and what is loaded on demand.
 * Returns the paths of all scripts, and what esbuild says about the first pass.
 */
async function divide(entries) {
  // The first pass divides the code, which esbuild does for ES modules alone.
  const { metafile } = await build({
    ...shared,
    ...entries,
    chunkNames: '[name]-[hash]',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    minifySyntax: true,
    plugins: [places],
    metafile: true,
  });
  const modules = Object.keys(metafile.outputs)
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => join(root, name));
  // The second makes scripts of these modules, because Node takes compiled code for scripts alone.
  await build({
    ...shared,
    entryPoints: modules,
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    plugins: [onDemand],
    // Packages that are loaded on demand are required, because scripts can't import by a stable interface of Node.
    supported: { 'dynamic-import': false },
    // Node reads every byte at each start. Lines stay short, because an uncaught error prints the line in which it was
    // thrown.
    minifyWhitespace: true,
    lineLimit: 120,
    // Node's own wrapper of a CommonJS module. As a part of the file it costs no copy of the text.
    banner: {
      js:
        "(function (exports, require, module, __filename, __dirname) { const __url = require('node:url').pathToFileURL(__filename).href;" +
        ' const __load = async (id) => require(id);',
    },
    footer: { js: '})' },
  });
  for (const name of modules) for (const ending of ['', '.map']) rmSync(`${name}${ending}`);
  const scripts = modules.map((name) => name.replace(/\.mjs$/, '.cjs'));
  for (const name of scripts) check(name);
  return { scripts, metafile };
}

// The engine keeps the text, with two bytes for each character if one is not of Latin-1. esbuild leaves such characters
// in regular expressions alone.
const asciiOf = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Makes a script ASCII. Throws if it loads others in a way that this bundle does not support. */
function check(name) {
  const text = readFileSync(name, 'utf8');
  if (text.includes('__toESM(require("./')) throw new Error(`${name} loads a module of the bundle like a package`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them.
  if (/[^\x00-\x7f]/.test(text)) writeFileSync(name, text.replace(/[^\x00-\x7f]/g, asciiOf));
}

/** Returns the script of each thread's module, by the module's path. */
function scriptsOfThreads({ outputs }) {
  const made = Object.entries(outputs).flatMap(([name, { entryPoint }]) =>
    THREADS.includes(entryPoint) ? [[entryPoint, basename(name).replace(/\.mjs$/, '.cjs')]] : [],
  );
  return Object.fromEntries(made);
}

rmSync(BUNDLE_NOTE, { force: true });
const programs = await divide({
  stdin: { contents: ENTRY, resolveDir: root, sourcefile: 'programs.js' },
  entryNames: 'programs-[hash]',
});
const threads = await divide({ entryPoints: THREADS, entryNames: '[name]-[hash]' });
const scripts = [...programs.scripts, ...threads.scripts];
const path = programs.scripts.find((name) => basename(name).startsWith('programs-'));

for (const flags of FLAGS) {
  const { status } = spawnSync(
    process.execPath,
    [...flags, join(root, 'scripts', 'compile-bundle.mjs'), path, ...programs.scripts, '--', ...threads.scripts],
    { stdio: 'inherit' },
  );
  if (status !== 0) process.exit(status ?? 1);
}

// The compiler writes its notes on a package whenever one of the package's sources has changed.
const inputs = [programs, threads]
  .flatMap(({ metafile }) => Object.keys(metafile.inputs))
  .filter((name) => !name.includes('node_modules/') && name.includes('/dist/'));
const packages = new Set(inputs.map((name) => name.slice(0, name.indexOf('/dist/'))));
const notes = [...packages]
  .map((name) => `${name}/dist/tsconfig.tsbuildinfo`)
  .filter((name) => existsSync(join(root, name)));
const of = [...notes, INSTALLED].map((name) => {
  const { mtimeMs, size } = statSync(join(root, name));
  return [name, mtimeMs, size];
});
writeFileSync(BUNDLE_NOTE, JSON.stringify({ file: basename(path), threads: scriptsOfThreads(threads.metafile), of }));

const current = new Set(scripts.map((name) => basename(name, '.cjs')));
for (const name of readdirSync(folder)) {
  const ofScript = name.slice(0, name.indexOf('.cjs'));
  const old = () => statSync(join(folder, name)).mtimeMs < Date.now() - KEPT_MS;
  if (name.includes('.cjs') && !current.has(ofScript) && old()) rmSync(join(folder, name));
}
