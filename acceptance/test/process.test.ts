import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { signIn } from '../src/people.js';
import { startScript } from '../src/process.js';
import type { Content, Resource, Workspace } from '../src/records.js';
import { freePort, inherited, mode, type OwnSystem, ROOT, startSystem } from '../src/system.js';

const MAIN = join(ROOT, 'services/all/dist/src/main.js');

describe('a life of a system', () => {
  let system: OwnSystem;

  beforeAll(async () => {
    system = await startSystem({ COMMONPLACE_SAMPLE: '1' });
  }, 90_000);

  afterAll(() => system?.stop(), 60_000);

  test('the first start tells where it is, how to sign in, and the key', () => {
    const said = system.stdout();
    expect(said).toContain(system.baseUrl);
    expect(said).toContain(system.owner.apiKey);
    expect(said).toContain(system.owner.password);
    expect(system.owner.apiKey).toMatch(/^wsk_p_[0-9A-Za-z]{12}_[0-9A-Za-z]{46}$/);
  });

  test('nobody else can read what it wrote down', () => {
    expect(statSync(system.bootstrapFile).mode & 0o777).toBe(0o600);
  });

  test('the first key has every scope, and the password signs in', async () => {
    const { data } = await api(system, system.owner.apiKey).get<{ scopes: string[] }>('/capabilities');
    expect(data.scopes).toHaveLength(68);
    const owner = await signIn(system, system.owner);
    expect(owner.user.email).toBe(system.owner.email);
  });

  test('there is something to read at once', async () => {
    const { data } = await api(system, system.owner.apiKey).get<{ items: Workspace[] }>('/workspaces');
    const sample = data.items.find(({ name }) => name === 'Welcome to Commonplace');
    await eventually(async () => {
      const { items } = (
        await api(system, system.owner.apiKey).get<{ items: Resource[] }>(`/workspaces/${sample?.id}/resources`)
      ).data;
      expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining(['Readme', 'Changelog', 'Docs']));
    });
  });

  test('nothing that was acknowledged is lost by SIGKILL', async () => {
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
    // What was cut off unanswered may be there too.
    expect(page.total).toBeGreaterThanOrEqual(made.length);
    expect(page.total).toBeLessThanOrEqual(made.length + 8);
  }, 60_000);

  test('SIGTERM ends it with exit code 0, and the next start prints no key', async () => {
    expect(await system.terminate()).toBe(0);
    await expect(fetch(`${system.baseUrl}/health/live`)).rejects.toThrow();
    await system.restart();
    expect(system.stdout()).not.toContain('wsk_');
    expect(system.stdout()).not.toContain(system.owner.password);
    expect(system.stdout()).toContain(system.baseUrl);
    const { data } = await api(system, system.owner.apiKey).get<{ items: Workspace[] }>('/workspaces');
    expect(data.items.map(({ name }) => name)).toContain('Kept');
  }, 60_000);

  test('what it says on the way holds no errors', () => {
    expect(system.stderr()).not.toMatch(/"level":(50|60|"error"|"fatal")|^\w*Error:/m);
  });

  (mode === 'embedded' ? test : test.skip)(
    'SIGTERM lets a request finish that has begun',
    async () => {
      const answer = beginRequest(system, '{"query":', '"words"}');
      await answer.begun;
      const ended = system.terminate();
      await new Promise((resolve) => setTimeout(resolve, 300));
      answer.finish();
      const { statusCode } = await answer.response;
      expect([statusCode, await ended]).toEqual([200, 0]);
    },
    60_000,
  );
});

/** Sends the first part of a search, and the second when told to. */
function beginRequest({ baseUrl, owner }: OwnSystem, first: string, second: string) {
  const headers = {
    Authorization: `Bearer ${owner.apiKey}`,
    'Content-Type': 'application/json',
    'Content-Length': String(first.length + second.length),
  };
  const sending = request(`${baseUrl}/api/v1/search`, { method: 'POST', headers });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sending.once('error', reject);
    sending.once('response', (message) => resolve(message.resume()));
  });
  const begun = new Promise<void>((resolve) => sending.write(first, () => setTimeout(resolve, 200)));
  return { begun, response, finish: () => sending.end(second) };
}

describe('a configuration that can’t be used', () => {
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

  test('is told with every problem at once, and exit code 78', async () => {
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

  test('http elsewhere than on loopback is one', async () => {
    const { code, said } = await start({ COMMONPLACE_PUBLIC_URL: 'http://commonplace.example' });
    expect([code, said.includes('COMMONPLACE_INSECURE_HTTP')]).toEqual([78, true]);
  });

  test('MongoDB without NATS is one', async () => {
    const { code, said } = await start({ COMMONPLACE_MONGODB_URL: 'mongodb://127.0.0.1:1' });
    expect([code, said.includes('COMMONPLACE_NATS_URL')]).toEqual([78, true]);
  });

  test('--help tells every setting and touches nothing', async () => {
    const dataDir = join(home, 'untouched');
    const env = { ...inherited(), COMMONPLACE_DATA_DIR: dataDir };
    const child = spawn(process.execPath, [MAIN, '--help'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(0);
    for (const name of ['PORT', 'DATA_DIR', 'SECRET_KEY', 'MONGODB_URL', 'RATE_LIMITS', 'SIGN_UP', 'OIDC_ISSUERS']) {
      expect(out).toContain(`COMMONPLACE_${name}`);
    }
    expect(existsSync(dataDir)).toBe(false);
  });
});
