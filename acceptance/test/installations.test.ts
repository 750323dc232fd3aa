import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConnection } from '@commonplace/adapters/sqlite/file';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Bucket, startBucket } from '../src/bucket.js';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type FileLink, newFile, sha256 } from '../src/files.js';
import { type Running, startScript } from '../src/process.js';
import type { Workspace } from '../src/records.js';
import { freePort, inherited, mode, type OwnSystem, ROOT, startSystem } from '../src/system.js';

/** Tests that nothing starts on, sweeps or replaces data of another installation. */

const EX_CONFIG = 78;
const MIN = 60_000;
const embedded = mode === 'embedded' ? test : test.skip;
// The S3-compatible server is installed where the others are.
const withServers = mode === 'mesh' ? test : test.skip;
/** Sweeps everything that may be swept, at once. */
const EAGER = { COMMONPLACE_SWEEP_GRACE_DAYS: '0', COMMONPLACE_SWEEP_TRASH_DAYS: '0' };

let home: string;
let bucket: Bucket | undefined;
const started: OwnSystem[] = [];
const processes: Running[] = [];

beforeAll(async () => {
  if (mode === 'mesh') bucket = await startBucket();
}, 120_000);
afterAll(() => bucket?.stop(), MIN);
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'commonplace-installations-'));
});
afterEach(async () => {
  for (const running of processes.splice(0)) await running.kill();
  for (const system of started.splice(0)) await system.stop();
  rmSync(home, { recursive: true, force: true });
}, MIN);

async function start(settings: Record<string, string> = {}): Promise<OwnSystem> {
  const system = await startSystem({ ...EAGER, ...settings });
  started.push(system);
  return system;
}

/** Starts everything as one process, however other systems of this suite run. */
async function startOne(dataDir: string, settings: Record<string, string> = {}): Promise<Running> {
  const env = {
    ...inherited(),
    ...EAGER,
    COMMONPLACE_PORT: String(await freePort()),
    COMMONPLACE_DATA_DIR: dataDir,
    COMMONPLACE_EMBEDDINGS: 'off',
    COMMONPLACE_SAMPLE: '0',
    ...settings,
  };
  const running = startScript(join(ROOT, 'services/all/dist/src/main.js'), env);
  processes.push(running);
  return running;
}

/** Returns the output of a refused start, which has one line for each problem and no stack. */
async function refusalOf(running: Running): Promise<string> {
  expect(await running.exited).toBe(EX_CONFIG);
  expect(running.stderr()).not.toMatch(/\n\s+at /);
  return running.stderr();
}

const up = (running: Running) => running.says('Docs  ', 2 * MIN);

async function fill(system: OwnSystem, count = 3): Promise<Map<string, string>> {
  const by = api(system, system.owner.apiKey);
  const workspace = (await by.post<Workspace>('/workspaces', { name: 'Files' })).data;
  const sums = new Map<string, string>();
  for (let i = 0; i < count; i++) {
    const bytes = randomBytes(2000);
    const { data } = await newFile(by, { name: `${i}.bin`, workspace_id: workspace.id }, bytes);
    sums.set(data.resource.id, sha256(bytes));
  }
  return sums;
}

/** Expects that every file has its original bytes. */
async function expectWhole(system: Pick<OwnSystem, 'baseUrl' | 'owner' | 'mode' | 'said'>, sums: Map<string, string>) {
  const by = api(system, system.owner.apiKey);
  for (const [id, sum] of sums) {
    const { data } = await by.get<FileLink>(`/resources/${id}/file`);
    expect(sha256(new Uint8Array(await (await fetch(data.download_url)).arrayBuffer()))).toBe(sum);
  }
}

const dataOf = (system: OwnSystem) => String(system.places.COMMONPLACE_DATA_DIR);

function blobsIn(dataDir: string): string[] {
  const names = readdirSync(join(dataDir, 'files/blobs'), { recursive: true, withFileTypes: true });
  return names.filter((entry) => entry.isFile()).map(({ name }) => name);
}

function commonplace(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; out: string }> {
  const child = spawn(process.execPath, [join(ROOT, 'cli/commonplace.mjs'), ...args], {
    env: { ...inherited(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (out += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out })));
}

embedded(
  'a second process on a data folder is refused and names the first',
  async () => {
    const system = await start();
    const sums = await fill(system);
    const said = await refusalOf(await startOne(dataOf(system)));
    expect(said).toMatch(/in use by another process: process \d+ on .+, since \d{4}-/);
    await expectWhole(system, sums);
    const { code } = await commonplace(['backup', '--data-dir', dataOf(system), '--to', join(home, 'backup.tar')]);
    expect(code).toBe(0);
    await system.kill();
    await system.restart();
    await expectWhole(system, sums);
  },
  4 * MIN,
);

embedded(
  'a database that is missing, or empty, beside keys and files is refused, and loses nothing',
  async () => {
    const system = await start();
    const sums = await fill(system);
    await system.terminate();
    const dataDir = dataOf(system);
    const aside = join(home, 'aside');
    mkdirSync(aside);
    const names = readdirSync(dataDir).filter((name) => name.startsWith('commonplace.db'));
    for (const name of names) renameSync(join(dataDir, name), join(aside, name));
    const before = blobsIn(dataDir);
    expect(before.length).toBeGreaterThanOrEqual(sums.size);

    expect(await refusalOf(await startOne(dataDir))).toMatch(
      /files .*COMMONPLACE_ADOPT=files[\s\S]*COMMONPLACE_ADOPT=keys/,
    );
    expect(existsSync(join(dataDir, 'commonplace.db'))).toBe(false);
    writeFileSync(join(dataDir, 'commonplace.db'), '');
    expect(await refusalOf(await startOne(dataDir))).toContain('missing or empty');
    // The state that a release without ids leaves.
    for (const name of ['files/installation.json', 'search.db.installation.json']) rmSync(join(dataDir, name));
    expect(await refusalOf(await startOne(dataDir))).toContain('holds something');
    expect(blobsIn(dataDir)).toEqual(before);

    for (const name of readdirSync(dataDir)) if (name.startsWith('commonplace.db')) rmSync(join(dataDir, name));
    for (const name of names) renameSync(join(aside, name), join(dataDir, name));
    expect(await refusalOf(await startOne(dataDir))).toContain('does not say to which installation');
    await up(await startOne(dataDir, { COMMONPLACE_ADOPT: 'files,index' }));
    expect(blobsIn(dataDir)).toEqual(before);
  },
  6 * MIN,
);

embedded(
  'a key that is missing or replaced is refused by its name, and nothing is made in its place',
  async () => {
    const system = await start();
    await system.terminate();
    const dataDir = dataOf(system);
    for (const name of ['secret.key', 'secrets.key']) {
      const file = join(dataDir, name);
      const aside = join(home, name);
      renameSync(file, aside);
      const said = await refusalOf(await startOne(dataDir));
      expect(said).toContain(`${file} is missing`);
      expect(existsSync(file)).toBe(false);
      const missing = await commonplace(['doctor', '--data-dir', dataDir]);
      expect([missing.code, missing.out]).toEqual([1, expect.stringContaining(`missing: ${file}`)]);

      writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
      expect(await refusalOf(await startOne(dataDir))).toContain(`${file} is not the key`);
      const other = await commonplace(['doctor', '--data-dir', dataDir]);
      expect([other.code, other.out]).toEqual([1, expect.stringContaining(`${file}: not the key`)]);
      copyFileSync(aside, file);
    }
    await system.restart();
    expect((await api(system, system.owner.apiKey).get('/workspaces')).status).toBe(200);
  },
  6 * MIN,
);

embedded(
  'what a release without ids has written opens, and is claimed',
  async () => {
    const system = await start();
    const sums = await fill(system);
    await system.terminate();
    const dataDir = dataOf(system);
    const database = openConnection(join(dataDir, 'commonplace.db'));
    database.exec('DROP TABLE system__installation');
    database.close();
    const marks = ['files/installation.json', 'search.db.installation.json'].map((name) => join(dataDir, name));
    for (const mark of marks) rmSync(mark);
    await system.restart();
    await expectWhole(system, sums);
    const ids = marks.map(
      (mark) => (JSON.parse(readFileSync(mark, 'utf8')) as { installation_id: string }).installation_id,
    );
    expect(new Set(ids).size).toBe(1);
    expect(system.stderr()).toBe('');
  },
  4 * MIN,
);

embedded(
  'a backup that is restored elsewhere runs beside the original, each with its own',
  async () => {
    const system = await start();
    const sums = await fill(system);
    const archive = join(home, 'backup.tar');
    expect((await commonplace(['backup', '--data-dir', dataOf(system), '--to', archive])).code).toBe(0);
    const later = await fill(system);
    const copy = join(home, 'copy');
    expect((await commonplace(['restore', '--from', archive, '--to', copy])).code).toBe(0);
    const port = String(await freePort());
    const running = await startOne(copy, { COMMONPLACE_PORT: port });
    await up(running);
    const restored = { ...system, baseUrl: `http://127.0.0.1:${port}` };
    await expectWhole(restored, sums);
    await expectWhole(system, new Map([...sums, ...later]));
    const idIn = (dataDir: string) => readFileSync(join(dataDir, 'files/installation.json'), 'utf8');
    expect(idIn(copy)).not.toBe(idIn(dataOf(system)));

    const same = join(home, 'same');
    expect((await commonplace(['restore', '--from', archive, '--to', same, '--same-installation'])).code).toBe(0);
    expect(idIn(same)).toBe(idIn(dataOf(system)));
  },
  5 * MIN,
);

withServers(
  'a new installation on the bucket of another is refused, and empties nothing',
  async () => {
    const url = `${bucket?.url.replace(/\?.*$/, '')}/shared`;
    const system = await start({ COMMONPLACE_S3_URL: url });
    const sums = await fill(system, 10);
    const said = await refusalOf(await startOne(join(home, 'new'), { COMMONPLACE_S3_URL: url }));
    expect(said).toMatch(/the bucket .+\/shared belongs to installation .+COMMONPLACE_ADOPT=files/);
    await expect(startSystem({ ...EAGER, COMMONPLACE_S3_URL: url })).rejects.toThrow('ended with code 78');
    await expectWhole(system, sums);
    await up(await startOne(join(home, 'own'), { COMMONPLACE_S3_URL: `${url}/of-its-own` }));
    await expectWhole(system, sums);
  },
  8 * MIN,
);

withServers(
  'a restored copy beside the live system asks for a bucket of its own, and deletes nothing of it',
  async () => {
    const url = `${bucket?.url.replace(/\?.*$/, '')}/drill`;
    const live = join(home, 'live');
    const port = String(await freePort());
    const bootstrap = join(home, 'bootstrap.json');
    const settings = { COMMONPLACE_S3_URL: url, COMMONPLACE_PORT: port, COMMONPLACE_BOOTSTRAP_JSON: bootstrap };
    const running = await startOne(live, settings);
    await up(running);
    await running.says('API key', MIN);
    const facts = await eventually(() => JSON.parse(readFileSync(bootstrap, 'utf8')) as { api_key?: string });
    const { api_key: apiKey = '' } = facts;
    const owner = { email: '', password: '', apiKey };
    const system = { mode, owner, baseUrl: `http://127.0.0.1:${port}`, said: async () => running.stderr() };
    const before = await fill(system as unknown as OwnSystem);
    const archive = join(home, 'backup.tar');
    expect((await commonplace(['backup', '--data-dir', live, '--to', archive], { COMMONPLACE_S3_URL: url })).code).toBe(
      0,
    );
    const since = await fill(system as unknown as OwnSystem);

    const copy = join(home, 'copy');
    const restored = await commonplace(['restore', '--from', archive, '--to', copy]);
    expect([restored.code, restored.out]).toEqual([0, expect.stringContaining('COMMONPLACE_S3_URL')]);
    expect(await refusalOf(await startOne(copy, { COMMONPLACE_S3_URL: url }))).toContain('belongs to installation');
    await up(await startOne(copy, { COMMONPLACE_S3_URL: `${url}/copy` }));
    await expectWhole(system, new Map([...before, ...since]));
  },
  8 * MIN,
);

withServers(
  'a copy of a data folder is refused on the bucket of the system that runs, and may have it when that is gone',
  async () => {
    const url = `${bucket?.url.replace(/\?.*$/, '')}/cloned`;
    const live = join(home, 'live');
    const settings = { COMMONPLACE_S3_URL: url };
    const first = await startOne(live, settings);
    await up(first);
    await first.terminate();
    const copy = join(home, 'copy');
    cpSync(live, copy, { recursive: true });
    const running = await startOne(live, settings);
    await up(running);

    const refused = await startOne(copy, settings);
    expect(await refusalOf(refused)).toMatch(/the bucket .+\/cloned is in use by another .+COMMONPLACE_ADOPT=files/);
    const restarted = await startOne(copy, { COMMONPLACE_S3_URL: `${url}/of-its-own`, COMMONPLACE_ADOPT: 'files' });
    await up(restarted);
    await restarted.terminate();

    await running.kill();
    const successor = await startOne(copy, settings);
    await up(successor);
    expect(successor.stderr()).toContain('installation.hold_taken_over');
    expect(await refusalOf(await startOne(live, settings))).toContain('in use by another running system');
  },
  12 * MIN,
);

withServers(
  'a copy of a data folder is refused on the index of the system that runs, though it has files of its own',
  async () => {
    const live = join(home, 'live');
    const settings = {
      COMMONPLACE_TYPESENSE_URL: process.env.COMMONPLACE_TYPESENSE_URL ?? '',
      COMMONPLACE_TYPESENSE_API_KEY: process.env.COMMONPLACE_TYPESENSE_API_KEY ?? '',
    };
    const prefix = `cloned${randomBytes(4).toString('hex')}`;
    const there = { ...settings, COMMONPLACE_TYPESENSE_PREFIX: prefix };
    const first = await startOne(live, there);
    await up(first);
    await first.terminate();
    const copy = join(home, 'copy');
    cpSync(live, copy, { recursive: true });
    const running = await startOne(live, there);
    await up(running);

    const refused = await startOne(copy, there);
    expect(await refusalOf(refused)).toMatch(/the index cloned.+ is in use by another .+COMMONPLACE_ADOPT=index/);
    await up(
      await startOne(copy, { ...there, COMMONPLACE_TYPESENSE_PREFIX: `${prefix}own`, COMMONPLACE_ADOPT: 'index' }),
    );
  },
  8 * MIN,
);

withServers(
  'a mesh whose keys were replaced does not start',
  async () => {
    const system = await start();
    await system.terminate();
    const dataDir = dataOf(system);
    writeFileSync(join(dataDir, 'secret.key'), `${randomBytes(32).toString('base64')}\n`);
    await expect(system.restart()).rejects.toThrow('ended with code 78');
    expect(system.stderr()).toContain('COMMONPLACE_SECRET_KEY is not the key that the database commonplace_identity');
  },
  8 * MIN,
);
