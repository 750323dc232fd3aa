import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { helpText, integer, nearestName, type Table, text, unknownSettings } from '@commonplace/kit/config';
import { StorageFull, Unavailable } from '@commonplace/kit/errors';
import { nodeProblem } from '@commonplace/kit/program';
import { describe, expect, test } from '@jest/globals';
import { startFailureOf } from '../src/runtime/start-failure.js';

describe('the reason why a process cannot start is one line and an exit code', () => {
  const failing = (facts: object) => Object.assign(new Error('it does not work'), facts);
  const listen = { syscall: 'listen', address: '127.0.0.1', port: 80 };
  test.each([
    [{ ...listen, code: 'EADDRINUSE' }, 69, 'Port 80 of 127.0.0.1 is in use'],
    [{ ...listen, code: 'EADDRNOTAVAIL', address: '10.9.9.9' }, 69, 'no address 10.9.9.9'],
    [{ ...listen, code: 'EACCES' }, 77, 'ports below 1024 need a right'],
    [{ syscall: 'mkdir', code: 'EACCES', path: '/data' }, 73, '/data cannot be written (this user may not)'],
    [{ syscall: 'open', code: 'EROFS', path: '/data/x' }, 73, 'the file system is read-only'],
    [{ syscall: 'mkdir', code: 'EEXIST', path: '/data' }, 73, 'it is no folder'],
  ])('%j', (facts, exitCode, words) => {
    const failure = startFailureOf(failing(facts));
    expect(failure).toEqual({ exitCode, line: expect.stringContaining(words) });
    expect(failure?.line).not.toContain('\n');
    expect(startFailureOf(new Error('above', { cause: failing(facts) }))).toEqual(failure);
  });

  test('a full disk is such a reason, and an unknown error is not', () => {
    expect(startFailureOf(StorageFull())).toMatchObject({ exitCode: 73 });
    expect(startFailureOf(Unavailable())).toBeUndefined();
    expect(startFailureOf(new TypeError('x is not a function'))).toBeUndefined();
  });

  test.each([
    ['v18.20.4', true],
    ['v20.18.3', true],
    ['v20.19.0', false],
    ['v24.9.0', false],
  ])('Node.js %s', (version, isTooOld) => {
    expect(nodeProblem(version)).toEqual(
      isTooOld ? expect.stringContaining(`20.19 or newer; this is ${version}`) : undefined,
    );
  });
});

test('a misspelt setting is reported with the most similar one, and what guides have clients set is not', () => {
  const known = ['COMMONPLACE_PORT', 'COMMONPLACE_HOST', 'COMMONPLACE_SIGN_UP'];
  expect(nearestName('COMMONPLACE_POTR', known)).toBe('COMMONPLACE_PORT');
  expect(nearestName('COMMONPLACE_SIGNUP', known)).toBe('COMMONPLACE_SIGN_UP');
  expect(nearestName('COMMONPLACE_SOMETHING_ELSE', known)).toBeUndefined();
  const env = {
    COMMONPLACE_HOTS: 'a',
    COMMONPLACE_PORT: '1',
    COMMONPLACE_TEST_MODE: 'x',
    PATH: '/bin',
    COMMONPLACE_ZZ: '',
    COMMONPLACE_KEYS: '',
    COMMONPLACE_URL: 'http://127.0.0.1:8080',
    COMMONPLACE_KEY: 'wsk_',
    COMMONPLACE_API_KEY: 'wsk_',
  };
  expect(unknownSettings(env, new Set(known))).toEqual([
    { name: 'COMMONPLACE_HOTS', nearest: 'COMMONPLACE_HOST' },
    { name: 'COMMONPLACE_ZZ', nearest: undefined },
    { name: 'COMMONPLACE_KEYS', nearest: undefined },
  ]);
});

test('the short help has what most people need, and the long one has every setting once', () => {
  const one: Table = {
    port: {
      variable: 'COMMONPLACE_PORT',
      help: 'port of the server',
      common: 'its port',
      parse: integer(0, 9),
      fallback: 8,
    },
    rare: { variable: 'COMMONPLACE_RARE', help: 'seldom set', parse: text, fallback: undefined },
    key: { variable: 'COMMONPLACE_KEY', help: 'a key', parse: text, fallback: 'hidden', secret: true },
  };
  const again: Table = { port: { variable: 'COMMONPLACE_PORT', help: 'the same', parse: text, fallback: '8' } };
  const short = helpText([one, again], false);
  expect(short).toMatch(/^COMMONPLACE_PORT +its port \[8\]$/m);
  expect(short).not.toContain('COMMONPLACE_RARE');
  expect(short).toContain('1 of 3 settings; --help --all');
  const long = helpText([again, one], true);
  expect(long.match(/COMMONPLACE_PORT/g)).toHaveLength(1);
  expect(long).toMatch(/^COMMONPLACE_RARE\n {4}seldom set$/m);
  expect(long).not.toContain('hidden');
});

test('a signal that arrives while the start keeps the process busy ends it', async () => {
  const home = mkdtempSync(join(tmpdir(), 'commonplace-start-'));
  const script = fileURLToPath(new URL('./busy-start.js', import.meta.url));
  const env = { ...process.env, COMMONPLACE_DATA_DIR: home, COMMONPLACE_LOG_LEVEL: 'error' };
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    for (let out = ''; !out.includes('busy'); ) out += String((await once(child.stdout, 'data'))[0]);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    rmSync(home, { recursive: true, force: true });
  }
}, 30_000);
