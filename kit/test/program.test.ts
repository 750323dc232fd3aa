import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Bundle, compiledFile, entryOf, freshBundle, type Programs, startThread } from '../src/program/index.js';

let root = '';
const folder = () => join(root, 'dist', 'bundle');
const part = () => join(root, 'part.js');
const bundle = () => join(folder(), 'programs.cjs');

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'bundle-'));
  mkdirSync(folder(), { recursive: true });
  writeFileSync(part(), 'export {};');
  const { mtimeMs, size } = statSync(part());
  writeFileSync(
    join(folder(), 'made.json'),
    JSON.stringify({
      file: 'programs.cjs',
      threads: { 'a/thread.js': 'thread-1.cjs' },
      of: [['part.js', mtimeMs, size]],
    }),
  );
});

afterEach(() => rmSync(root, { recursive: true }));

test('a bundle is used while none of its files has changed', () => {
  const threads = new Map([['a/thread.js', join(folder(), 'thread-1.cjs')]]);
  expect(freshBundle(root)).toEqual({ programs: bundle(), threads });
});

test('a bundle is not used after a file was written again, even with the same length', () => {
  utimesSync(part(), new Date(), new Date(Date.now() + 5000));
  expect(freshBundle(root)).toBeUndefined();
});

test('a bundle is not used if a file has another length or is missing', () => {
  const { atime, mtime } = statSync(part());
  writeFileSync(part(), 'export {}; ');
  utimesSync(part(), atime, mtime);
  expect(freshBundle(root)).toBeUndefined();
  rmSync(part());
  expect(freshBundle(root)).toBeUndefined();
});

test('there is no bundle if none was created, or only a part of it', () => {
  writeFileSync(join(folder(), 'made.json'), '{"file":"programs.cjs","of":[["part.js", 1');
  expect(freshBundle(root)).toBeUndefined();
  expect(freshBundle(join(root, 'nowhere'))).toBeUndefined();
});

test('a thread runs a script of a bundle', async () => {
  const other = join(folder(), 'other.cjs');
  writeFileSync(other, '(function (exports) { exports.word = 42; })');
  const script = join(folder(), 'thread-1.cjs');
  writeFileSync(
    script,
    `(function (exports, require) {
      const { parentPort, workerData } = require('node:worker_threads');
      parentPort.postMessage([require('./other.mjs').word, workerData]);
    })`,
  );
  const entry = new URL('../src/program/bundled-thread.js', import.meta.url);
  const [message] = await once(new Worker(entry, { argv: [script], workerData: 'given' }), 'message');
  expect(message).toEqual([42, 'given']);
});

test('a thread starts with its module if a later build has deleted its script', () => {
  const script = join(folder(), 'thread-1.cjs');
  const threads = new Map([['kit/dist/src/program/stack.js', script]]);
  const module = new URL('../src/program/stack.js', import.meta.url);
  const entry = () => entryOf(module, { programs: bundle(), threads });
  expect(entry()).toEqual({ entry: module, argv: [] });
  writeFileSync(script, '');
  expect(entry().argv).toEqual([script]);
});

test('a thread without a script of the bundle runs its module', async () => {
  const module = join(folder(), 'thread.mjs');
  writeFileSync(module, "import { parentPort } from 'node:worker_threads'; parentPort.postMessage(import.meta.url);");
  const [message] = await once(startThread(pathToFileURL(module), {}), 'message');
  expect(message).toBe(pathToFileURL(module).href);
});

describe('a script of a bundle', () => {
  const CODE = `(function (exports, require, module, __filename) {
    exports.programs = { paths: async () => ({ start: async () => [require('node:path').sep, __filename] }) };
  })`;
  const answer = async () => {
    const { programs } = new Bundle().run(bundle()) as { programs: Programs };
    return (await programs.paths?.())?.start();
  };
  const scriptOf = (path: string) => {
    const opened = new Bundle();
    opened.run(path);
    return opened.scripts.get(path);
  };
  const compile = () => scriptOf(bundle())?.createCachedData() ?? Buffer.alloc(0);

  beforeEach(() => writeFileSync(bundle(), CODE));

  test('runs with its own path, and with the modules of Node', async () => {
    expect(await answer()).toEqual(['/', bundle()]);
  });

  test('runs with the code that was compiled for this engine', async () => {
    expect(scriptOf(bundle())?.cachedDataRejected).toBeUndefined();
    writeFileSync(compiledFile(bundle()), compile());
    expect(scriptOf(bundle())?.cachedDataRejected).toBe(false);
    expect(await answer()).toEqual(['/', bundle()]);
  });

  test('runs if the compiled code is of another engine, or incomplete', async () => {
    const compiled = compile();
    const unusable = { 'no code': Buffer.from('no code'), half: compiled.subarray(0, compiled.length / 2) };
    for (const [name, code] of Object.entries(unusable)) {
      // The engine remembers scripts of this process by their text.
      writeFileSync(bundle(), `${CODE} // ${name}`);
      writeFileSync(compiledFile(bundle()), code);
      expect(scriptOf(bundle())?.cachedDataRejected).toBe(true);
      expect(await answer()).toEqual(['/', bundle()]);
    }
  });

  test('runs others when it first requires them, each once, even if they require it in turn', () => {
    const script = (name: string, body: string) =>
      writeFileSync(join(folder(), `${name}.cjs`), `(function (exports, require) { ${body} })`);
    script('programs', 'exports.later = () => require("./part-1.mjs").text(); exports.name = "programs";');
    script(
      'part-1',
      'const one = require("./programs.mjs"); exports.text = () => one.name + " " + exports.loaded++; exports.loaded = 1;',
    );
    const opened = new Bundle();
    const { later } = opened.run(bundle()) as { later: () => string };
    expect([...opened.scripts.keys()]).toEqual([bundle()]);
    expect([later(), later()]).toEqual(['programs 1', 'programs 2']);
    expect([...opened.scripts.keys()]).toEqual([bundle(), join(folder(), 'part-1.cjs')]);
  });

  test('that fails while it runs fails again for the next one that requires it', () => {
    writeFileSync(bundle(), '(function (exports) { exports.half = true; throw new Error("not there"); })');
    const opened = new Bundle();
    expect(() => opened.run(bundle())).toThrow('not there');
    expect(() => opened.run(bundle())).toThrow('not there');
  });
});
