// Bundles the compiled code of all programs into a few files, because Node takes about a millisecond to load each of
// their thousand modules. A program starts from the bundle as long as none of its sources has changed, and otherwise
// from the modules (kit/src/program).
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';
import { SERVICES } from './mesh.mjs';

const root = resolve(import.meta.dirname, '..');
const folder = join(root, 'dist', 'bundle');
/** Entry points by the program names that the `main.ts` files pass. */
const PROGRAMS = {
  ...Object.fromEntries(['all', ...SERVICES].map((name) => [name, `services/${name}/dist/src/serve.js`])),
  gateway: 'gateway/dist/src/serve.js',
  bootstrap: 'services/all/dist/src/make-owner.js',
  cli: 'cli/dist/src/run.js',
};
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
 * read and compile 270 of their files at each start of a service and of the gateway. None of them depends on its own
 * path or is loaded by a package outside the bundle.
 */
const TAKEN = /\/node_modules\/(koa|mongodb|@nats-io\/[^/]+|@aws-sdk\/(client-s3|s3-request-presigner))\//;
/** Gives bundled CommonJS code access to Node's own modules. */
const REQUIRE = "import { createRequire as __of } from 'node:module'; const require = __of(import.meta.url);";

/**
 * Keeps other CommonJS packages outside the bundle, resolved like from their importers, and gives every file its
 * original URL.
 */
const places = {
  name: 'places',
  setup(bundle) {
    bundle.onResolve({ filter: /./ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
      if (kind === 'entry-point' || pluginData === places) return undefined;
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
      const url = `new URL(${JSON.stringify(relative(folder, path))}, import.meta.url).href`;
      return { contents: text.replaceAll('import.meta.url', url), loader: 'js' };
    });
  },
};

rmSync(join(folder, 'made-of.json'), { force: true });
const { metafile } = await build({
  entryPoints: Object.entries(PROGRAMS).map(([out, path]) => ({ out, in: join(root, path) })),
  outdir: folder,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Packages are resolved as in Node, because bundlers are offered files that Node does not run.
  mainFields: ['main'],
  conditions: [],
  sourcemap: 'linked',
  sourcesContent: false,
  // Node reads every byte at each start. Lines stay short, because an uncaught error prints the line in which it was
  // thrown.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 120,
  banner: { js: REQUIRE },
  plugins: [places],
  absWorkingDir: root,
  metafile: true,
  logLevel: 'error',
});
const own = Object.keys(metafile.inputs).filter((path) => !path.includes('node_modules/'));
const made = [...own, INSTALLED].map((path) => {
  const { mtimeMs, size } = statSync(join(root, path));
  return [path, mtimeMs, size];
});
writeFileSync(join(folder, 'made-of.json'), JSON.stringify(made));

/**
 * Milliseconds for which files of earlier bundles are kept, because a process that runs from one loads some of them
 * lazily.
 */
const KEPT_MS = 24 * 3_600_000;
const present = new Set(Object.keys(metafile.outputs).map((path) => basename(path)));
for (const name of readdirSync(folder)) {
  const path = join(folder, name);
  const isFormer = /\.js(\.map)?$/.test(name) && !present.has(name);
  if (isFormer && Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path);
}
