import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { linkOf, newFile } from '../src/files.js';
import { archive, importAll, inline, itemsOf } from '../src/imports.js';
import { signIn } from '../src/people.js';
import type { Org, Workspace } from '../src/records.js';
import { CONTENT_HOST, type StandingSystem, standingSystem } from '../src/standing.js';

const PAGE = '<!doctype html><html><script>alert(1)</script></html>';

let system: StandingSystem;
let by: Api;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem('tight');
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Files' })).data;
});

afterAll(() => system?.stop());

/** Sends a request to this system under a host name. */
function askAs(host: string, url: string): Promise<IncomingMessage> {
  const { pathname } = new URL(url, system.baseUrl);
  return new Promise((resolve, reject) => {
    request(`${system.baseUrl}${pathname}`, { headers: { host } }, (answer) => resolve(answer.resume()))
      .once('error', reject)
      .end();
  });
}

describe('an origin for users’ bytes', () => {
  test('serves content with scripts, without access to the product', async () => {
    const made = await newFile(by, { name: 'page.html', workspace_id: workspace.id }, PAGE);
    const link = await linkOf(by, made.data.resource.id, '?disposition=inline');
    expect([link.disposition, new URL(link.download_url).host]).toEqual(['inline', CONTENT_HOST]);
    const { statusCode, headers } = await askAs(CONTENT_HOST, link.download_url);
    expect(statusCode).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-disposition']).toMatch(/^inline/);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'.*; sandbox$/);
    expect(headers['set-cookie']).toBeUndefined();
    expect((await askAs(new URL(system.baseUrl).host, link.download_url)).statusCode).toBe(404);
  });

  test('serves nothing else', async () => {
    for (const path of ['/api/v1/me', '/auth/sign-in', '/docs', '/']) {
      expect((await askAs(CONTENT_HOST, path)).statusCode).toBe(404);
    }
  });
});

test('a quota is enforced for all ways of upload, and freed by deletions', async () => {
  const mine = (await by.post<Workspace>('/workspaces', { name: 'Small' })).data;
  const there = { name: 'file', workspace_id: mine.id };
  const first = (await newFile(by, there, Buffer.alloc(900))).data.resource.id;
  const refused = await newFile(by, there, Buffer.alloc(101));
  expect([refused.status, refused.error.code]).toEqual([409, 'storage_quota_exceeded']);
  expect((await newFile(by, { ...there, size_bytes: 101 })).error.code).toBe('storage_quota_exceeded');
  expect((await by.get(`/storage/usage?workspace_id=${mine.id}`)).data).toMatchObject({ quota_bytes: 1000 });
  await by.del(`/resources/${first}`);
  await by.del(`/workspaces/${mine.id}/trash`);
  // The bytes are freed when the event of the purge has arrived.
  let freed = await newFile(by, there, Buffer.alloc(500));
  for (let tries = 0; freed.status === 409 && tries < 15; tries++) {
    await sleep(1000);
    freed = await newFile(by, there, Buffer.alloc(500));
  }
  expect(freed.status).toBe(201);
});

test('a quota is enforced for imports, whose concurrent files all count', async () => {
  const owner = await signIn(system, system.owner);
  const { data: org } = await owner.post<Org>('/orgs', { name: 'Tight' });
  const place = (await owner.post<Workspace>('/workspaces', { name: 'Tight', org_id: org.id })).data;
  const files = Object.fromEntries(Array.from({ length: 4 }, (_, i) => [`${i}.txt`, `${i}`.repeat(400)]));
  const links = Object.keys(files).map((path) => `[f](${path})`);
  const zip = { source_type: 'markdown_zip', ...inline(archive({ 'a.md': links.join(' '), ...files })) };
  const done = await importAll(owner, place.id, zip);
  expect([done.status, done.stats.files]).toEqual(['completed_with_errors', 2]);
  const failed = await itemsOf(owner, done.id, 'failed');
  expect(failed.map(({ code, retryable }) => [code, retryable])).toEqual(
    Array(2).fill(['storage_quota_exceeded', true]),
  );
});

test('uploads have a rate limit of their own', async () => {
  const answers = await Promise.all(
    Array.from({ length: 90 }, () => newFile(by, { name: 'x', workspace_id: workspace.id, content_base64: '!' })),
  );
  const limited = answers.filter(({ status }) => status === 429);
  expect(limited.length).toBeGreaterThan(0);
  expect(limited[0]?.headers.get('ratelimit-policy')).toContain('"upload";q=40;w=60');
  expect(limited[0]?.error.details).toMatchObject({ policy: 'upload' });
});
