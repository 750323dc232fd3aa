// Bundles the compiled code of all programs into a few files: Node takes about a millisecond to load each of the
// thousand modules they consist of. A program starts from the bundle as long as none of its sources has changed, and
// from the modules themselves otherwise (kit/src/program).
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';
import { SERVICES } from './mesh.mjs';

const root = resolve(import.meta.dirname, '..');
const folder = join(root, 'dist', 'bundle');
/** Entry points by the program names that each `main.ts` passes. */
const PROGRAMS = {
  ...Object.fromEntries(['all', ...SERVICES].map((name) => [name, `services/${name}/dist/src/serve.js`])),
  gateway: 'gateway/dist/src/serve.js',
  bootstrap: 'services/all/dist/src/make-owner.js',
  cli: 'cli/dist/src/run.js',
};
/** File that `npm install` rewrites with each change of what is installed. */
const INSTALLED = 'node_modules/.package-lock.json';

/**
 * Returns whether a file is an ES module by Node's rules; CommonJS files have their own ways to find what they need.
 */
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
 * CommonJS packages that are bundled all the same, with all that they require: Node finds, reads and compiles 270 files
 * of them at each start of a service and of the gateway. None of them depends on its own path or is loaded by a package that stays
 * outside.
 */
const TAKEN = /\/node_modules\/(koa|mongodb|@nats-io\/[^/]+|@aws-sdk\/(client-s3|s3-request-presigner))\//;
/** Gives bundled CommonJS code access to Node's own modules. */
const REQUIRE = "import { createRequire as __of } from 'node:module'; const require = __of(import.meta.url);";

/**
 * Leaves other CommonJS packages where they are, resolved as their importer resolves them, and gives every file its own
 * original URL.
 */
const places = {
  name: 'places',
  setup(bundle) {
    bundle.onResolve({ filter: /./ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
      if (kind === 'entry-point' || pluginData === places) return undefined;
      const found = await bundle.resolve(path, { importer, resolveDir, kind, pluginData: places });
      const required = kind === 'require-call';
      // An optional package is looked for again at run time.
      if (required && found.errors.length > 0) return { path, external: true };
      if (found.errors.length > 0 || found.external || isModule(found.path)) return found;
      if (required || TAKEN.test(found.path)) return found;
      return { path: relative(folder, found.path), external: true };
    });
    bundle.onLoad({ filter: /\.m?js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta')) return undefined;
      if (/import\.meta\.(?!url\b)/.test(text)) throw new Error(`${path} asks for more of its place than its URL`);
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
  // Resolve packages as Node does: bundlers are offered files that Node does not run.
  mainFields: ['main'],
  conditions: [],
  sourcemap: 'linked',
  sourcesContent: false,
  // Node reads each byte at each start. Lines stay short because an uncaught error prints the line it came from.
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

/** Milliseconds that files of former bundles are kept: a process that runs on one loads some of them lazily. */
const KEPT_MS = 24 * 3_600_000;
const present = new Set(Object.keys(metafile.outputs).map((path) => basename(path)));
for (const name of readdirSync(folder)) {
  const path = join(folder, name);
  const isFormer = /\.js(\.map)?$/.test(name) && !present.has(name);
  if (isFormer && Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path);
}
