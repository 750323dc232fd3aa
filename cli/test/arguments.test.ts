import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { EXIT } from '../src/exit.js';
import { runProgram } from '../src/program.js';
import { type DataFolder, makeDataFolder } from './data-folder.js';

let folder: DataFolder;
beforeAll(async () => {
  folder = await makeDataFolder();
});
afterAll(() => folder.remove());

let out: string;
let err: string;
let spies: { mockRestore(): void }[];
beforeEach(() => {
  [out, err] = ['', ''];
  const write = (add: (text: string) => void) => (text: unknown) => {
    add(String(text));
    return true;
  };
  const [toOut, toErr] = [write((text) => (out += text)), write((text) => (err += text))];
  spies = [
    jest.spyOn(process.stdout, 'write').mockImplementation(toOut),
    jest.spyOn(process.stderr, 'write').mockImplementation(toErr),
    jest.spyOn(console, 'log').mockImplementation(toOut),
    jest.spyOn(console, 'error').mockImplementation(toErr),
  ];
});
afterEach(() => {
  for (const spy of spies) spy.mockRestore();
});

const at = (...path: string[]) => join(folder.home, ...path);
const run = (...args: string[]) => runProgram(args, { COMMONPLACE_DATA_DIR: folder.dataDir });

test.each([
  ['--to is empty', ['backup', '--to', '']],
  ['--into is empty', ['backup', '--into', ' ']],
  ['--from is empty', ['restore', '--from', '', '--to', 'somewhere']],
  ['--to is empty', ['restore', '--from', 'somewhere', '--to', '']],
  ['--data-dir is empty', ['keys', 'list', '--data-dir', '']],
  ['--name is empty', ['keys', 'create', '--email', 'a@b.c', '--name', '']],
  ['--scopes', ['keys', 'create', '--email', 'a@b.c', '--scopes', '']],
  ['--scopes', ['keys', 'create', '--email', 'a@b.c', '--scopes', ' , ']],
  ['--service is empty', ['doctor', '--service', 'search', '']],
  ['the argument key is empty', ['keys', 'revoke', '']],
  ['the argument id is empty', ['jobs', 'retry', 'a', '']],
])('%s: commonplace %j is refused', async (message, args) => {
  expect(await run(...args)).toBe(EXIT.usage);
  expect(err).toContain(message);
});

test.each(['', '5', '2027', '01/02/2027', '2027-02-30', '2027-01-31T12:00', '+275000-01-01', 'tomorrow'])(
  'the time %j is refused',
  async (time) => {
    expect(await run('keys', 'create', '--email', 'a@b.c', '--expires', time)).toBe(EXIT.usage);
    expect(await run('credits', 'grant', '--tenant', 'a@b.c', '--amount', '1', '--expires', time)).toBe(EXIT.usage);
  },
);

test.each([[['nonsense']], [['account', 'reset']], [['keys', 'list', '--frob']], [['keys', 'create']]])(
  'a wrong command line is followed by how to see the right one: %j',
  async (args) => {
    expect(await run(...args)).toBe(EXIT.usage);
    expect(err).toMatch(/^error: .*\n(\(Did you mean .*\)\n)?--help after a command shows what it takes\.\n$/);
  },
);

test('a wrong command line answers in JSON, too, where that is requested', async () => {
  expect(await run('keys', 'revoke', '--json')).toBe(EXIT.usage);
  const message = "error: missing required argument 'key'";
  expect(JSON.parse(out)).toEqual({ error: { exit_code: EXIT.usage, message } });
  expect(err).toBe(`${message}\n--help after a command shows what it takes.\n`);
});

test('URLs are refused where a path is expected, and buckets without a name, and show no key', async () => {
  for (const args of [
    ['backup', '--to', 'https://key:geheim@s3.example.com/backups'],
    ['backup', '--into', 's3://key:geheim@backups/work'],
    ['backup', '--into', 'https://key:geheim@s3.example.com/'],
    ['backup', '--into', 'http://'],
    ['restore', '--from', 'ftp://key:geheim@host/file.tar', '--to', at('restored')],
    ['restore', '--from', 'http://', '--to', at('restored')],
  ]) {
    expect([args, await run(...args)]).toEqual([args, EXIT.usage]);
  }
  expect(out + err).not.toContain('geheim');
  for (const name of ['https:', 's3:', 'ftp:']) expect(existsSync(name)).toBe(false);
});

test('a file is no target for a folder', async () => {
  writeFileSync(at('file'), '');
  expect(await run('backup', '--to', at('file'))).toBe(EXIT.taken);
  expect(await run('backup', '--to', at('whole'))).toBe(EXIT.ok);
  expect(await run('restore', '--from', at('whole'), '--to', at('file'))).toBe(EXIT.taken);
});

test('a file is no folder of backups', async () => {
  writeFileSync(at('one.tar'), '');
  for (const args of [
    ['backup', '--into', at('one.tar')],
    ['restore', '--newest', '--from', at('one.tar'), '--to', at('restored')],
  ]) {
    expect([args, await run(...args)]).toEqual([args, EXIT.usage]);
  }
  expect(err).toContain(`${at('one.tar')} is a file, not a folder of backups`);
});

test('a backup within the data folder comes with a warning', async () => {
  for (const [place, isInside] of [
    [join(folder.dataDir, 'backups'), true],
    [`${folder.dataDir}-backups`, false],
  ] as const) {
    out = '';
    expect(await run('backup', '--into', place, '--json')).toBe(EXIT.ok);
    const warning = expect.stringContaining('is lost with it');
    expect(JSON.parse(out).warnings).toEqual(isInside ? [warning] : []);
  }
});

test('--keep never deletes the backup that was just made, and warns of names of the future', async () => {
  const [old, future] = ['2025-01-01', '2999-01-01'].map((day) => `commonplace-${day}t01-30-00z.tar`) as [
    string,
    string,
  ];
  for (const series of ['one', 'two']) {
    mkdirSync(at(series));
    for (const name of [old, future]) writeFileSync(at(series, name), 'x');
  }
  expect(await run('backup', '--into', at('two'), '--keep', '2', '--json')).toBe(EXIT.ok);
  const { to, deleted, warnings } = JSON.parse(out);
  expect(existsSync(at('two', to.split(' ').at(-1)))).toBe(true);
  expect(deleted).toEqual([old]);
  expect(warnings).toEqual([expect.stringContaining(`${future} is named after a later time`)]);
  expect(await run('backup', '--into', at('one'), '--keep', '1')).toBe(EXIT.ok);
  expect(readdirSync(at('one'))).toEqual([expect.not.stringMatching(/2025|2999/)]);
});

test.each([
  ['keys', 'list'],
  ['account', 'disable', 'a@b.c'],
  ['sweeper', 'restore', '--all'],
  ['sweeper', 'list'],
  ['jobs', 'list'],
  ['events', 'list'],
  ['credits', 'list'],
  ['index', 'status'],
])('without a database, commonplace %s %s says so and creates nothing', async (...args) => {
  expect(await run(...args, '--data-dir', at('none'))).toBe(EXIT.missing);
  expect(err).toBe(
    `commonplace: there is no database in ${at('none')}: name the data folder by --data-dir or COMMONPLACE_DATA_DIR`,
  );
  expect(existsSync(at('none'))).toBe(false);
});

test('a server that does not answer is named by the cause', async () => {
  const env = { COMMONPLACE_DATA_DIR: folder.dataDir, COMMONPLACE_NATS_URL: 'nats://127.0.0.1:1' };
  expect(await runProgram(['events', 'list'], env)).toBe(EXIT.failed);
  expect(err).toMatch(/not available.*refused/);
});

test('--version prints the version of the build', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  for (const args of [['--version'], ['-V']]) {
    out = '';
    expect(await run(...args)).toBe(EXIT.ok);
    expect([args, out]).toEqual([args, `${version}\n`]);
  }
  expect(err).toBe('');
});
