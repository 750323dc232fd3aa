// Checks the direction of imports, including those of types: no circle of folders within a package, and no import that
// points up. `npm run lint` runs it on all packages; `node scripts/check-imports.mjs kit services/search` checks some.
// `--root FOLDER` checks another checkout.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { parse } from '@babel/parser';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Packages that still have circles or imports that point up. A package is removed from this list with its last one. */
const NOT_YET = [];

/** Packages of this project that a package may import, by the package's name or, for services, by their folder. */
const MAY_IMPORT = {
  kit: ['proto'],
  adapters: ['proto', 'kit'],
  platform: ['proto', 'kit', 'adapters'],
  services: ['proto', 'kit', 'platform'],
  // It may import the adapters, because its index is a database file of the same library.
  'services/search': ['proto', 'kit', 'adapters', 'platform'],
  site: ['proto', 'kit', 'platform'],
  gateway: ['proto', 'kit', 'platform', 'site'],
  'services/all': ['proto', 'kit', 'platform', 'services', 'gateway'],
  cli: ['proto', 'kit', 'adapters', 'platform', 'services', 'services/all'],
  acceptance: ['proto', 'kit', 'adapters', 'platform', 'site', 'services', 'services/all', 'gateway', 'cli'],
  bench: ['proto', 'kit', 'adapters', 'platform', 'services', 'services/all', 'gateway', 'cli', 'acceptance'],
};

/** Files at the root of a service's `src` that assemble the service, and may therefore import its handlers. */
const ASSEMBLY = ['service.ts', 'serve.ts'];

/** Returns the folders of the packages of a checkout that have sources, for example `kit` and `services/files`. */
function listPackages(root) {
  const folders = Object.keys(MAY_IMPORT).flatMap((name) =>
    name === 'services' && existsSync(join(root, name))
      ? readdirSync(join(root, name)).map((service) => `services/${service}`)
      : name,
  );
  return [...new Set(folders)].filter((folder) => existsSync(join(root, folder, 'src')));
}

/** Returns the problems of one package: circles of folders and imports that point up. */
export function checkPackage(root, name) {
  const imports = readImports(join(root, name, 'src'));
  const service = name.startsWith('services/');
  return {
    upward: imports.flatMap(({ from, to, specifier }) => {
      const reason = to === undefined ? foreignReason(name, specifier) : service ? serviceReason(from, to) : undefined;
      return reason === undefined ? [] : [`${name}/src/${from} imports ${to ?? specifier}: ${reason}`];
    }),
    circles: [folderOf, areaOf]
      .flatMap((nodeOf) => findCircles(imports, nodeOf))
      .filter((circle, index, all) => all.findIndex((other) => sameNodes(circle, other)) === index),
  };
}

/** Returns the imports and re-exports of all files in a `src`. `to` is set for those with a target inside it. */
function readImports(src) {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  const known = new Set(files);
  const targetOf = (from, specifier) => {
    const target = specifier.startsWith('.') ? relative(src, resolve(src, dirname(from), specifier)) : '..';
    if (target.startsWith('..')) return undefined;
    // Both kinds of sources compile to files that end in `.js`.
    return ['.ts', '.tsx'].map((ending) => target.replace(/\.js$/, ending)).find((file) => known.has(file)) ?? target;
  };
  return files.sort().flatMap((from) => {
    const specifiers = specifiersOf(readFileSync(join(src, from), 'utf8'), from.endsWith('x'));
    return specifiers.map((specifier) => ({ from, specifier, to: targetOf(from, specifier) }));
  });
}

/**
 * Returns the specifiers of everything that a file imports (also with `import(…)`), re-exports, or uses as
 * `import('…')` in a type.
 */
function specifiersOf(text, jsx) {
  const found = new Set();
  const visit = (node) => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node?.type !== 'string') return;
    if (/^(?:Import(?:Declaration|Expression)|Export(?:Named|All)Declaration|TSImportType)$/.test(node.type)) {
      const source = node.source ?? node.argument;
      const specifier = source?.value ?? source?.literal?.value;
      if (typeof specifier === 'string') found.add(specifier);
    }
    for (const key in node) if (key !== 'loc' && typeof node[key] === 'object') visit(node[key]);
  };
  const plugins = ['typescript', ...(jsx ? ['jsx'] : [])];
  visit(parse(text, { sourceType: 'module', createImportExpressions: true, plugins }).program);
  return [...found];
}

/** Returns the reason why a package may not import something from outside its `src`; undefined if it may. */
function foreignReason(name, specifier) {
  if (specifier.startsWith('.')) return 'a relative import stays in its package';
  const [, short] = /^@commonplace\/([^/]+)/.exec(specifier) ?? [];
  if (short === undefined || short.startsWith('model-')) return undefined;
  const target = ['proto', 'kit', 'adapters', 'platform', 'site', 'gateway', 'cli', 'acceptance', 'bench'].includes(
    short,
  )
    ? short
    : `services/${short}`;
  if (target === name) return 'a package imports its own files by their path';
  const allowed = MAY_IMPORT[name] ?? MAY_IMPORT.services;
  if (allowed.includes(target) || (target !== 'services/all' && allowed.includes(dirname(target)))) return undefined;
  return `${MAY_IMPORT[name] === undefined ? 'a service' : name} imports only ${allowed.join(', ')}`;
}

/** Returns the reason why a file of a service may not import another of its files; undefined if it may. */
function serviceReason(from, to) {
  if (partOf(from, 'domain') !== undefined && partOf(to, 'domain') === undefined)
    return 'domain/ imports nothing of its service but domain/';
  const handlers = partOf(to, 'handlers');
  if (handlers !== undefined && partOf(from, 'handlers') !== handlers && !ASSEMBLY.includes(from))
    return `only ${ASSEMBLY.join(' and ')} import handlers/`;
  return undefined;
}

/** Returns the path of the nearest folder of a given name that contains a file, for example `tables/domain`. */
function partOf(file, name) {
  const folders = dirname(file).split('/');
  const depth = folders.lastIndexOf(name);
  return depth < 0 ? undefined : folders.slice(0, depth + 1).join('/');
}

/**
 * Returns the folder of a file. A file at the root of `src` is a node of its own, because it is at the top or the bottom
 * of the package.
 */
function folderOf(file) {
  return file.includes('/') ? dirname(file) : file;
}

/** Returns the folder or file of `src` to which a file belongs. */
function areaOf(file) {
  return file.split('/')[0];
}

/** Returns the circles among nodes: groups in which every node reaches all others, with the imports between them. */
function findCircles(imports, nodeOf) {
  const graph = new Map();
  for (const { from, to } of imports) {
    if (to === undefined || nodeOf(from) === nodeOf(to)) continue;
    const targets = graph.get(nodeOf(from)) ?? graph.set(nodeOf(from), new Map()).get(nodeOf(from));
    targets.set(nodeOf(to), [...(targets.get(nodeOf(to)) ?? []), `${from} -> ${to}`]);
  }
  const reached = new Map([...graph.keys()].map((node) => [node, reachableFrom(graph, node)]));
  const circles = new Map();
  for (const [node, others] of reached) {
    if (!others.has(node)) continue;
    const nodes = [...others].filter((other) => reached.get(other)?.has(node)).sort();
    const edges = nodes.flatMap((one) =>
      [...graph.get(one)]
        .filter(([other]) => nodes.includes(other))
        .map(([other, by]) => ({ from: one, to: other, by })),
    );
    circles.set(nodes.join(), { nodes, edges });
  }
  return [...circles.values()];
}

/** Returns all nodes that can be reached by a path of at least one edge. */
function reachableFrom(graph, start) {
  const seen = new Set();
  const next = [start];
  for (let node = next.pop(); node !== undefined; node = next.pop())
    for (const target of graph.get(node)?.keys() ?? [])
      if (!seen.has(target)) {
        seen.add(target);
        next.push(target);
      }
  return seen;
}

function sameNodes(one, other) {
  return one.nodes.join() === other.nodes.join();
}

/** Describes a circle in lines: its nodes, and for each edge up to three imports. */
function describeCircle(name, { nodes, edges }) {
  return [
    `${name}/src: a circle of ${nodes.length}: ${nodes.join(', ')}`,
    ...edges.flatMap(({ from, to, by }) => [
      `    ${from} -> ${to}: ${by.length}`,
      ...by.slice(0, 3).map((line) => `        ${line}`),
    ]),
  ];
}

function main() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { root: { type: 'string' } } });
  const root = values.root ?? ROOT;
  const known = listPackages(root);
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`no such package: ${unknown.join(', ')}; there are ${known.join(', ')}`);
  const tolerated = root === ROOT && positionals.length === 0 ? NOT_YET : [];
  for (const name of positionals.length > 0 ? positionals : known) {
    const { upward, circles } = checkPackage(root, name);
    const problems = [...upward, ...circles.flatMap((circle) => describeCircle(name, circle))];
    if (!tolerated.includes(name)) {
      if (problems.length > 0) process.exitCode = 1;
      for (const line of problems) console.error(line);
    } else if (problems.length > 0) {
      const sizes = circles.map(({ nodes }) => nodes.length).join(', ') || 'none';
      console.log(`${name} is not clean yet: ${upward.length} imports point up; circles of folders: ${sizes}`);
    } else {
      process.exitCode = 1;
      console.error(`${name} is clean: remove it from NOT_YET in scripts/check-imports.mjs`);
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) main();
