import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { signIn } from '../src/people.js';
import { type Running, startScript } from '../src/process.js';
import type { Content, Resource, Workspace } from '../src/records.js';
import { freePort, inherited, mode, type OwnSystem, ROOT, startSystem } from '../src/system.js';

const MAIN = join(ROOT, 'services/all/dist/src/main.js');

describe('the life cycle of a system', () => {
  let system: OwnSystem;

  beforeAll(async () => {
    system = await startSystem({ COMMONPLACE_SAMPLE: '1' });
  });

  afterAll(() => system?.stop());

  test('the first start prints its address and the places of the sign-in and the key, and neither of them', () => {
    const said = system.stdout();
    expect(said).toContain(system.baseUrl);
    // There is no terminal, and logs are stored.
    expect(said).toContain(system.bootstrapFile);
    expect(said).not.toContain('wsk_');
    expect(said).not.toContain(system.owner.password);
    expect(system.owner.apiKey).toMatch(/^wsk_p_[0-9A-Za-z]{12}_[0-9A-Za-z]{46}$/);
  });

  test('files with secrets are readable by their owner only', () => {
    expect(statSync(system.bootstrapFile).mode & 0o777).toBe(0o600);
  });

  test('the first key has every scope, and the password signs in', async () => {
    const { data } = await api(system, system.owner.apiKey).get<{ scopes: string[] }>('/capabilities');
    expect(data.scopes).toHaveLength(69);
    const owner = await signIn(system, system.owner);
    expect(owner.user.email).toBe(system.owner.email);
  });

  test('there is content to read at once', async () => {
    const { data } = await api(system, system.owner.apiKey).get<{ items: Workspace[] }>('/workspaces');
    const sample = data.items.find(({ name }) => name === 'Welcome to Commonplace');
    await eventually(async () => {
      const { items } = (
        await api(system, system.owner.apiKey).get<{ items: Resource[] }>(`/workspaces/${sample?.id}/resources`)
      ).data;
      expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining(['Readme', 'Changelog', 'Docs']));
    });
  });

  test('SIGKILL loses no acknowledged write', async () => {
    const by = api(system, system.owner.apiKey);
    const { data: workspace } = await by.post<Workspace>('/workspaces', { name: 'Kept' });
    const place = { type: 'document', workspace_id: workspace.id };
    const made: Resource[] = [];
    const writing = Array.from({ length: 8 }, async (_, worker) => {
      for (let i = 0; ; i++) {
        const name = `${worker} ${i}`;
        const reply = await by.post<Resource>('/resources', { ...place, name, content: name }).catch(() => undefined);
        if (reply?.status !== 201) return;
        made.push(reply.data);
      }
    });
    await eventually(() => expect(made.length).toBeGreaterThan(50), 30_000);
    await system.kill();
    await Promise.all(writing);
    await system.restart();
    for (const { id, name } of made) {
      const { data } = await by.get<Content>(`/resources/${id}/content`);
      expect(data.content).toBe(name);
    }
    const { page } = await by.get(`/workspaces/${workspace.id}/resources?limit=1`);
    // Requests that were interrupted may be stored too.
    expect(page.total).toBeGreaterThanOrEqual(made.length);
    expect(page.total).toBeLessThanOrEqual(made.length + 8);
  });

  test('SIGTERM ends it with exit code 0, and the next start prints no key', async () => {
    expect(await system.terminate()).toBe(0);
    await expect(fetch(`${system.baseUrl}/health/live`)).rejects.toThrow();
    await system.restart();
    expect(system.stdout()).not.toContain('wsk_');
    expect(system.stdout()).not.toContain(system.owner.password);
    expect(system.stdout()).toContain(system.baseUrl);
    const { data } = await api(system, system.owner.apiKey).get<{ items: Workspace[] }>('/workspaces');
    expect(data.items.map(({ name }) => name)).toContain('Kept');
  });

  test('its log contains no errors', () => {
    expect(system.stderr()).not.toMatch(/"level":(50|60|"error"|"fatal")|^\w*Error:/m);
  });

  (mode === 'embedded' ? test : test.skip)('SIGTERM lets a running request finish', async () => {
    const answer = beginRequest(system, '{"query":', '"words"}');
    await answer.begun;
    const ended = system.terminate();
    await new Promise((resolve) => setTimeout(resolve, 300));
    answer.finish();
    const { statusCode } = await answer.response;
    expect([statusCode, await ended]).toEqual([200, 0]);
  });
});

/** Sends the first part of a search, and the second one on demand. */
function beginRequest({ baseUrl, owner }: OwnSystem, first: string, second: string) {
  const headers = {
    Authorization: `Bearer ${owner.apiKey}`,
    'Content-Type': 'application/json',
    'Content-Length': String(first.length + second.length),
    Expect: '100-continue',
  };
  const sending = request(`${baseUrl}/api/v1/search`, { method: 'POST', headers });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sending.once('error', reject);
    sending.once('response', (message) => resolve(message.resume()));
  });
  // The server responds once it has the head of the request.
  const begun = new Promise<void>((resolve) => sending.once('continue', () => sending.write(first, () => resolve())));
  sending.flushHeaders();
  return { begun, response, finish: () => sending.end(second) };
}

describe('a start that fails', () => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'commonplace-start-'));
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  async function start(settings: Record<string, string>, flags: string[] = []) {
    const port = String(await freePort());
    const env = { ...inherited(), COMMONPLACE_PORT: port, COMMONPLACE_SAMPLE: '0', ...settings };
    const running = startScript(
      MAIN,
      { ...env, COMMONPLACE_DATA_DIR: settings.COMMONPLACE_DATA_DIR ?? join(home, port) },
      flags,
    );
    return { code: await running.exited, said: running.stderr() };
  }

  const inOneLine = ({ said }: { said: string }, words: string) => {
    const lines = said.split('\n').filter((line) => line.includes(words));
    expect(lines.filter((line) => !line.startsWith('{'))).toHaveLength(1);
    // The text for people is an event of the log, too.
    for (const line of lines.filter((one) => one.startsWith('{'))) expect(JSON.parse(line).event).toBe('start.failed');
    expect(said).not.toMatch(/\n\s+at /);
  };

  test('because its port is taken', async () => {
    const taken = createServer(() => {});
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    const ended = await start({ COMMONPLACE_PORT: String(port), COMMONPLACE_POTR: '1' });
    taken.close();
    expect(ended.code).toBe(69);
    inOneLine(ended, `Port ${port} of 127.0.0.1 is in use`);
    inOneLine(ended, 'COMMONPLACE_POTR is not a setting, and is ignored: did you mean COMMONPLACE_PORT?');
  });

  test('because its folder cannot be written', async () => {
    const file = join(home, 'file');
    writeFileSync(file, '');
    const noFolders = existsSync('/proc/self') ? ['/proc/nowhere'] : [];
    for (const dataDir of [file, join(file, 'below'), ...noFolders]) {
      const ended = await start({ COMMONPLACE_DATA_DIR: dataDir });
      expect(ended.code).toBe(73);
      inOneLine(ended, `${dataDir} cannot be written`);
    }
  });

  test('because Node.js is too old', async () => {
    const old = `Object.defineProperty(process, 'version', { value: 'v18.20.4' })`;
    const ended = await start({}, ['--import', `data:text/javascript,${encodeURIComponent(old)}`]);
    expect(ended.code).toBe(69);
    inOneLine(ended, 'Commonplace needs Node.js 20.19 or newer; this is v18.20.4.');
  });
});

(mode === 'embedded' ? describe : describe.skip)('a first start without a terminal', () => {
  let home: string;
  let running: Running | undefined;

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'commonplace-first-'));
  });
  afterEach(async () => {
    await running?.kill();
    running = undefined;
    rmSync(home, { recursive: true, force: true });
  });

  async function start(settings: Record<string, string>) {
    const port = String(await freePort());
    const dataDir = join(home, 'data');
    const env = {
      ...inherited(),
      COMMONPLACE_PORT: port,
      COMMONPLACE_DATA_DIR: dataDir,
      COMMONPLACE_SAMPLE: '0',
      COMMONPLACE_EMBEDDINGS: 'off',
      ...settings,
    };
    running = startScript(MAIN, env);
    const said = () => `${running?.stdout()}${running?.stderr()}`;
    await eventually(() => expect(said()).toContain('Sign in'), 60_000);
    return { baseUrl: `http://127.0.0.1:${port}`, file: join(dataDir, 'bootstrap.json'), said };
  }

  test('writes the password and the key into the data folder, for its owner only', async () => {
    const { baseUrl, file, said } = await start({});
    const { email, password, api_key: key } = JSON.parse(readFileSync(file, 'utf8'));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(said()).toContain(file);
    for (const secret of [password, key, 'wsk_']) expect(said()).not.toContain(secret);
    await signIn({ baseUrl }, { email, password });
    expect((await api({ baseUrl }, key).get('/me')).status).toBe(200);
  });

  test('prints its addresses when it is ready', async () => {
    const { baseUrl } = await start({ COMMONPLACE_SAMPLE: '1' });
    await running?.says('Docs  ', 60_000);
    expect((await fetch(`${baseUrl}/health/ready`)).status).toBe(200);
  });

  test('with the password of the operator prints nothing, and creates no key', async () => {
    const password = 'chosen by the operator';
    const { baseUrl, file, said } = await start({ COMMONPLACE_OWNER_PASSWORD: password });
    const owner = await signIn({ baseUrl }, { email: 'owner@localhost', password });
    expect((await owner.get<{ items: unknown[] }>('/api-keys')).data.items).toEqual([]);
    expect(existsSync(file)).toBe(false);
    expect(said()).not.toContain(password);
    expect(said()).not.toContain('wsk_');
  });
});

describe('an invalid configuration', () => {
  let home: string;

  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'commonplace-config-'));
  });

  afterAll(() => rmSync(home, { recursive: true, force: true }));

  async function start(settings: Record<string, string>, file = MAIN) {
    const dataDir = join(home, 'data');
    const env = {
      ...inherited(),
      COMMONPLACE_PORT: String(await freePort()),
      COMMONPLACE_DATA_DIR: dataDir,
      ...settings,
    };
    const running = startScript(file, env);
    return { code: await running.exited, said: running.stderr(), out: running.stdout(), dataDir };
  }

  test('is reported with every problem at once, and exit code 78', async () => {
    const { code, said } = await start({
      COMMONPLACE_PORT: 'http',
      COMMONPLACE_RATE_LIMITS: 'everything=5',
      COMMONPLACE_SIGN_UP: 'maybe',
      COMMONPLACE_SECRET_KEY: 'short',
      COMMONPLACE_LOG_LEVEL: 'loud',
    });
    expect(code).toBe(78);
    for (const name of ['PORT', 'RATE_LIMITS', 'SIGN_UP', 'SECRET_KEY', 'LOG_LEVEL']) {
      expect(said).toContain(`COMMONPLACE_${name}`);
    }
    expect(said).not.toContain('short');
    expect(said).not.toMatch(/\n\s+at /);
  });

  test('an invalid port is one problem', async () => {
    const { code, said } = await start({ COMMONPLACE_PORT: '99999' });
    expect([code, said.includes('COMMONPLACE_PORT'), said.includes('COMMONPLACE_PUBLIC_URL')]).toEqual([
      78,
      true,
      false,
    ]);
  });

  test('http other than on loopback is one', async () => {
    const { code, said } = await start({ COMMONPLACE_PUBLIC_URL: 'http://commonplace.example' });
    expect([code, said.includes('COMMONPLACE_INSECURE_HTTP')]).toEqual([78, true]);
  });

  test('MongoDB without NATS is one', async () => {
    const { code, said } = await start({ COMMONPLACE_MONGODB_URL: 'mongodb://127.0.0.1:1' });
    expect([code, said.includes('COMMONPLACE_NATS_URL')]).toEqual([78, true]);
  });

  test.each([
    ['an owner without an address', { COMMONPLACE_OWNER_EMAIL: 'grace' }, 'COMMONPLACE_OWNER_EMAIL must be an e-mail'],
    [
      'an owner whose password is shorter than passwords have to be',
      { COMMONPLACE_PASSWORD_MIN_LENGTH: '20', COMMONPLACE_OWNER_PASSWORD: 'two minnows' },
      'COMMONPLACE_OWNER_PASSWORD is refused',
    ],
    ['a sender without an address', { COMMONPLACE_MAIL_FROM: 'Wiki' }, 'COMMONPLACE_MAIL_FROM must be an e-mail'],
    [
      'a list of passwords that is not there',
      { COMMONPLACE_BREACHED_PASSWORDS: '/nowhere/list.txt' },
      "COMMONPLACE_BREACHED_PASSWORDS can't be used",
    ],
  ])('%s is one', async (_, settings, problem) => {
    const { code, said } = await start({ COMMONPLACE_SAMPLE: '0', ...settings });
    expect([code, said.includes(problem)]).toEqual([78, true]);
    expect(said).not.toMatch(/\n\s+at /);
  });

  test('a host name for metrics that has no address is reported, with exit code 69', async () => {
    const { code, said } = await start({
      COMMONPLACE_METRICS_PORT: String(await freePort()),
      COMMONPLACE_METRICS_HOST: 'nowhere.invalid',
    });
    expect([code, said.includes('no address nowhere.invalid')]).toEqual([69, true]);
  });

  test('an argument is refused, and nothing is made', async () => {
    const dataDir = join(home, 'no-argument');
    const child = spawn(process.execPath, [MAIN, '--port', '9000'], {
      env: { ...inherited(), COMMONPLACE_DATA_DIR: dataDir },
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(64);
    expect(said).toBe('There is no argument --port: settings are environment variables, which --help lists.\n');
    expect(existsSync(dataDir)).toBe(false);
  });

  test('--help fits two screens, --help --all prints every setting, and neither changes anything', async () => {
    const dataDir = join(home, 'untouched');
    const help = async (...args: string[]) => {
      const env = { ...inherited(), COMMONPLACE_DATA_DIR: dataDir };
      const child = spawn(process.execPath, [MAIN, '--help', ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      let out = '';
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
      });
      expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
      return out;
    };
    const lines = (await help()).split('\n');
    expect(lines.length).toBeLessThanOrEqual(48);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    for (const name of ['PORT', 'DATA_DIR', 'SIGN_UP']) expect(lines.join('\n')).toContain(`COMMONPLACE_${name}`);
    const out = await help('--all');
    for (const name of ['PORT', 'DATA_DIR', 'SECRET_KEY', 'MONGODB_URL', 'RATE_LIMITS', 'SIGN_UP', 'OIDC_ISSUERS']) {
      expect(out).toContain(`COMMONPLACE_${name}`);
    }
    expect(existsSync(dataDir)).toBe(false);
  });
});
