import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from '../src/system.js';

interface Locked {
  readonly version?: string;
  readonly engines?: { readonly node?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The part of semver that is used here. */
interface Semver {
  minVersion(range: string): { readonly version: string } | null;
  satisfies(version: string, range: string): boolean;
}

const semver = createRequire(import.meta.url)('semver') as Semver;

/** Returns the packages that do not support a version of Node.js according to their own `engines`. */
function refusing(version: string, packages: Readonly<Record<string, Locked>>): string[] {
  return Object.entries(packages)
    .filter(([, { engines }]) => engines?.node !== undefined && !semver.satisfies(version, engines.node))
    .map(([path, locked]) => `${path}@${locked.version} needs Node.js ${locked.engines?.node}`);
}

/** Returns the dependencies that no folder above their package contains, which `npm ci` would not install. */
function unresolved(packages: Readonly<Record<string, Locked>>): string[] {
  return Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !placesOf(name, path).some((place) => place in packages))
      .map((name) => `${path} needs ${name}`),
  );
}

/** Returns the folders in which Node.js looks for a package that is required from a folder. */
function placesOf(name: string, folder: string): string[] {
  const parts = folder.split('/');
  return [...parts.keys(), parts.length].map((length) =>
    [...parts.slice(0, length), 'node_modules', name].filter((part) => part !== '').join('/'),
  );
}

const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
const promised: string = read('package.json').engines.node;
const oldest = semver.minVersion(promised)?.version ?? '';

const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };

test('the lock file contains every dependency of every package', () => {
  expect(unresolved(packages)).toEqual([]);
  const { 'node_modules/koa': _, ...without } = packages;
  expect(unresolved(without)).toContain('gateway needs koa');
});

test('every package of the lock file runs on the oldest supported Node.js', () => {
  expect(Object.keys(packages).length).toBeGreaterThan(500);
  expect(refusing(oldest, packages)).toEqual([]);
});

test('a package that needs a newer Node.js is reported', () => {
  expect(refusing('20.19.0', { 'node_modules/new': { version: '6.0.2', engines: { node: '^22 || ^24' } } })).toEqual([
    'node_modules/new@6.0.2 needs Node.js ^22 || ^24',
  ]);
});

test('the scripts and the programs refuse every older Node.js', () => {
  const [major, minor] = oldest.split('.');
  const script = readFileSync(join(ROOT, 'scripts/node-version.mjs'), 'utf8');
  expect(script).toContain(`major < ${major} || (major === ${major} && minor < ${minor})`);
  const program = readFileSync(join(ROOT, 'kit/src/program/node-version.ts'), 'utf8');
  expect(program).toContain(`= [${major}, ${minor}];`);
});
