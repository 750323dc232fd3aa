import { execFile, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { freePort, ROOT } from '@commonplace/acceptance/dist/src/system.js';
import type { LoadRequest } from '../load/spec.js';
import type { Contestant, Subject } from '../measure.js';
import { processTree } from '../processes.js';
import type { Page } from '../real/pages.js';

const EMAIL = 'owner@example.com';
const PASSWORD = 'a password for a benchmark';
const START_TRIES = 600;

/**
 * Starts PocketBase, a server for records in one SQLite file, and fills it with pages. Returns requests that create
 * pages and requests that replace their texts. They do what a user would do there, without versions, permissions,
 * events or an index.
 */
export async function startPocketBase(home: string, pages: readonly Page[]): Promise<PocketBase> {
  const { installTool } = (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as {
    installTool(name: string): Promise<string>;
  };
  const program = await installTool('pocketbase');
  mkdirSync(home, { recursive: true });
  const place = ['--dir', join(home, 'data')];
  await promisify(execFile)(program, ['superuser', 'upsert', EMAIL, PASSWORD, ...place], { cwd: home });
  const port = await freePort();
  const child = spawn(program, ['serve', '--http', `127.0.0.1:${port}`, ...place], { cwd: home, stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    child.kill();
    await ended;
  };
  try {
    const token = await signIn(url);
    const subject: Subject = {
      name: 'PocketBase',
      url,
      apiKey: undefined,
      pids: () => processTree(child.pid ?? 0),
      stop,
    };
    return { subject, works: await worksOf(url, token, pages, subject), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export interface PocketBase {
  readonly subject: Subject;
  readonly works: readonly Contestant[];
  stop(): Promise<void>;
}

async function signIn(url: string): Promise<string> {
  const body = JSON.stringify({ identity: EMAIL, password: PASSWORD });
  const headers = { 'content-type': 'application/json' };
  for (let tries = 0; tries < START_TRIES; tries++) {
    const answer = await fetch(`${url}/api/collections/_superusers/auth-with-password`, {
      method: 'POST',
      body,
      headers,
    }).catch(() => undefined);
    if (answer?.ok) return ((await answer.json()) as { token: string }).token;
    await sleep(50);
  }
  throw new Error('PocketBase does not start.');
}

async function worksOf(url: string, token: string, pages: readonly Page[], subject: Subject): Promise<Contestant[]> {
  const headers = { authorization: token, 'content-type': 'application/json' };
  const ask = async <T>(path: string, body: object): Promise<T> => {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`POST ${path} answers ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const text = (name: string, max: number) => ({ name, type: 'text', max });
  const fields = [text('name', 500), text('folder', 500), text('content', 1_000_000)];
  await ask('/api/collections', { name: 'pages', type: 'base', fields });
  const bodyOf = ({ name, folder, markdown }: Page) => ({ name, folder, content: markdown });
  const records = '/api/collections/pages/records';
  const ids: string[] = [];
  for (const page of pages) ids.push((await ask<{ id: string }>(records, bodyOf(page))).id);
  const request = (method: 'POST' | 'PATCH', path: string, body: object): LoadRequest => {
    return { method, path, headers, body: JSON.stringify(body) };
  };
  const other = (i: number) => pages[(i + 1) % pages.length] as Page;
  return [
    {
      subject,
      about: 'create a page of 4 KB',
      requests: pages.map((page) => request('POST', records, bodyOf(page))),
    },
    {
      subject,
      about: 'replace content',
      requests: ids.map((id, i) => request('PATCH', `${records}/${id}`, { content: other(i).markdown })),
    },
  ];
}
