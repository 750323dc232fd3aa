import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ROOT } from '../src/system.js';

interface Script {
  checkPackage(root: string, name: string): { upward: string[]; circles: { nodes: string[] }[] };
}

const SCRIPT = join(ROOT, 'scripts/check-imports.mjs');
const { checkPackage } = (await import(pathToFileURL(SCRIPT).href)) as Script;

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'imports-'));
});

afterEach(() => rmSync(root, { recursive: true }));

/** Writes these files into the checkout. */
function write(files: Record<string, string>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
}

/** Returns what the script finds in the package of the first of these files: imports that point up, else circles. */
function check(files: Record<string, string>): string[] {
  write(files);
  const [name] = Object.keys(files)[0]?.split('/src/') ?? [];
  const { upward, circles } = checkPackage(root, name ?? '');
  return [...upward, ...circles.map(({ nodes }) => nodes.join(' '))];
}

describe('a cycle of folders', () => {
  test('is not found if imports point in one direction only, also from the root of src and back to it', () => {
    const files = {
      'kit/src/service.ts': `import { b } from './b/b.js'; import './base.js';`,
      'kit/src/b/b.ts': `import '../c/c.js'; import './other.js'; export const b = 1;`,
      'kit/src/b/other.ts': `import type { B } from './b.js';`,
      'kit/src/c/c.ts': `import '../base.js';`,
      'kit/src/base.ts': `import 'node:fs';`,
    };
    expect(check(files)).toEqual([]);
  });

  test.each([
    ['an import', `import { a } from '../a/a.js';`],
    ['an import of a type', `import type { A } from '../a/a.js';`],
    ['an import in a type', `export type A = import('../a/a.js').A;`],
    ['a dynamic import', `export const load = () => import('../a/a.js');`],
    ['a re-export', `export { a } from '../a/a.js';`],
    ['a re-export of everything', `export * from '../a/a.js';`],
    ['an import by a file with JSX', `import { A } from '../a/a.js'; export const b = <A />;`],
  ])('is found if %s closes it', (what, text) => {
    const files = {
      'kit/src/a/a.ts': `import '../b/b.js';`,
      [`kit/src/b/b.ts${what.endsWith('JSX') ? 'x' : ''}`]: text,
    };
    expect(check(files)).toEqual(['a b']);
  });

  test('is found through files that do not import each other in a cycle, and through an index', () => {
    const files = {
      'kit/src/a/index.ts': `export * from './down.js';`,
      'kit/src/a/down.ts': `import '../b/index.js';`,
      'kit/src/a/base.ts': '',
      'kit/src/b/index.ts': `export * from '../c/up.js';`,
      'kit/src/c/up.ts': `import '../a/base.js';`,
    };
    expect(check(files)).toEqual(['a b c']);
  });

  test('is found through a file with JSX at the root of src', () => {
    const files = { 'kit/src/a/a.ts': `import '../page.js';`, 'kit/src/page.tsx': `import './a/b.js';` };
    expect(check({ ...files, 'kit/src/a/b.ts': '' })).toEqual(['a page.tsx']);
  });

  test('is found between a folder and one in it', () => {
    const files = {
      'kit/src/a/a.ts': `import './b/b.js';`,
      'kit/src/a/b/b.ts': `import '../c.js';`,
      'kit/src/a/c.ts': '',
    };
    expect(check(files)).toEqual(['a a/b']);
  });

  test('is found between areas, although the folders in them have none', () => {
    const files = { 'kit/src/a/low/a.ts': `import '../../b/b.js';`, 'kit/src/b/b.ts': `import '../a/high/a.js';` };
    expect(check({ ...files, 'kit/src/a/high/a.ts': '' })).toEqual(['a b']);
  });
});

describe('an import that points up', () => {
  test.each([
    ['kit/src/a.ts', '@commonplace/files', 'kit imports only proto'],
    ['kit/src/a.ts', '@commonplace/gateway/config', 'kit imports only proto'],
    ['kit/src/a.ts', '@commonplace/adapters/sqlite', 'kit imports only proto'],
    ['adapters/src/a.ts', '@commonplace/platform/contracts', 'adapters imports only proto, kit'],
    ['platform/src/a.ts', '@commonplace/site/page', 'platform imports only proto, kit, adapters'],
    ['site/src/a.ts', '@commonplace/gateway', 'site imports only proto, kit, platform'],
    ['services/files/src/a.ts', '@commonplace/adapters/mongo', 'a service imports only proto, kit, platform'],
    ['gateway/src/a.ts', '@commonplace/files/config', 'gateway imports only proto, kit, platform, site'],
    ['services/files/src/a.ts', '@commonplace/tenancy', 'a service imports only proto, kit, platform'],
    ['services/files/src/a.ts', '@commonplace/all', 'a service imports only proto, kit, platform'],
    ['services/files/src/a.ts', '@commonplace/gateway', 'a service imports only proto, kit, platform'],
    ['services/all/src/a.ts', '@commonplace/cli', 'services/all imports only proto, kit, platform, services, gateway'],
    ['cli/src/a.ts', '@commonplace/bench', 'cli imports only proto, kit, adapters, platform, services, services/all'],
    ['services/files/src/a.ts', '@commonplace/files/config', 'a package imports its own files by their path'],
    ['services/files/src/a.ts', '../../tenancy/src/a.js', 'a relative import stays in its package'],
  ])('from %s to %s is refused', (file, specifier, reason) => {
    const problems = [`${file} imports ${specifier}: ${reason}`];
    expect(check({ [file]: `import type { A } from '${specifier}';` })).toEqual(problems);
  });

  test.each([
    ['kit/src/a.ts', '@commonplace/proto/files'],
    ['gateway/src/a.ts', '@commonplace/kit/rpc'],
    ['services/files/src/a.ts', '@commonplace/kit/rpc'],
    ['services/search/src/a.ts', '@commonplace/model-all-minilm-l6-v2/model.json'],
    ['services/all/src/a.ts', '@commonplace/files'],
    ['services/all/src/a.ts', '@commonplace/gateway'],
    ['cli/src/a.ts', '@commonplace/files/queues'],
    ['bench/src/a.ts', '@commonplace/acceptance'],
  ])('is allowed from %s to %s', (file, specifier) => {
    expect(check({ [file]: `import '${specifier}';` })).toEqual([]);
  });

  test.each([
    ['domain/a.ts', 'errors.ts', 'domain/ imports nothing of its service but domain/'],
    ['tables/domain/a.ts', 'stores/rows.ts', 'domain/ imports nothing of its service but domain/'],
    ['acts/a.ts', 'handlers/present.ts', 'only service.ts and serve.ts import handlers/'],
    ['tables/handlers/a.ts', 'handlers/present.ts', 'only service.ts and serve.ts import handlers/'],
  ])('within a service from %s to %s is refused', (from, to, reason) => {
    const specifier = `${'../'.repeat(from.split('/').length - 1)}${to.replace('.ts', '.js')}`;
    const problems = [`services/all/src/${from} imports ${to}: ${reason}`];
    const files = { [`services/all/src/${from}`]: `import '${specifier}';`, [`services/all/src/${to}`]: '' };
    expect(check(files)).toEqual(problems);
  });

  test.each([
    ['domain/a.ts', './deep/b.js'],
    ['domain/a.ts', '../tables/domain/b.js'],
    ['handlers/a.ts', '../domain/b.js'],
    ['handlers/a.ts', './present.js'],
    ['service.ts', './handlers/a.js'],
    ['serve.ts', './handlers/a.js'],
  ])('is allowed within a service from %s to %s', (from, specifier) => {
    expect(check({ [`services/all/src/${from}`]: `import '${specifier}';` })).toEqual([]);
  });
});

describe('the script', () => {
  const run = (...names: string[]) =>
    spawnSync(process.execPath, [SCRIPT, '--root', root, ...names], { encoding: 'utf8' });

  beforeEach(() =>
    write({
      'kit/src/a/a.ts': `import '../b/b.js';`,
      'kit/src/b/b.ts': `import '../a/a.js';`,
      'services/files/src/a.ts': `import '@commonplace/kit/a';`,
      'services/search/src/a.ts': `import '@commonplace/files';`,
    }),
  );

  test('fails with every problem of all packages', () => {
    const { status, stderr } = run();
    expect(status).toBe(1);
    expect(stderr.split('\n')).toEqual([
      'kit/src: a circle of 2: a, b',
      '    a -> b: 1',
      '        a/a.ts -> b/b.ts',
      '    b -> a: 1',
      '        b/b.ts -> a/a.ts',
      'services/search/src/a.ts imports @commonplace/files: services/search imports only proto, kit, adapters, platform',
      '',
    ]);
  });

  test('checks only the requested packages', () => {
    expect(run('services/files')).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(run('services/search')).toMatchObject({ status: 1 });
    expect(run('services/nothing').stderr).toContain('no such package: services/nothing');
  });
});
