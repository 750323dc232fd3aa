import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { eventually, whileItLasts } from '../src/eventually.js';
import { type Person, signIn } from '../src/people.js';
import type { Org, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

interface Publication {
  readonly slug: string;
  readonly url: string;
  readonly view_count: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

let system: System;
let by: Person;
let org: Org;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  by = await signIn(system, system.owner);
  org = (await by.post<Org>('/orgs', { name: 'Readers' })).data;
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Read', org_id: org.id })).data;
});

const create = async (fields: object) =>
  (await by.post<Resource>('/resources', { type: 'document', workspace_id: workspace.id, ...fields })).data;

/** Sends a request like a reader's browser, under any host name. */
function read(path: string, headers: Record<string, string> = {}, method = 'GET', body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, system.baseUrl), { method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece) => {
        text += piece;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Publishes a folder with a page, and reads the page once, so that it is cached. */
async function published(fields: object = {}) {
  const slug = `p-${randomUUID().slice(0, 13)}`;
  const folder = await create({ type: 'folder', name: 'Folder' });
  const page = await create({ name: 'Page', parent_id: folder.id, workspace_id: undefined, content: 'first words' });
  await by.post(`/resources/${folder.id}/publish`, { slug, ...fields });
  const home = `/p/${slug}`;
  const path = new RegExp(`${home}/page-[0-9a-f]{12}`).exec((await read(home)).text)?.[0] ?? 'no page';
  return { slug, home, path, folder, page };
}

async function soonReads(path: string, check: (answer: Answer) => void): Promise<void> {
  await eventually(async () => check(await read(path)));
}

describe('a cached page', () => {
  test('is soon updated', async () => {
    const { path, page } = await published();
    expect((await read(path)).text).toContain('first words');
    await by.patch(`/resources/${page.id}/content`, { content: 'second words' });
    await soonReads(path, ({ text }) => expect(text).toContain('second words'));
  });

  test.each<[string, (place: Awaited<ReturnType<typeof published>>) => Promise<unknown>]>([
    ['restricted', ({ page }) => by.patch(`/resources/${page.id}`, { access_mode: 'restricted' })],
    ['trashed', ({ page }) => by.del(`/resources/${page.id}`)],
    ['moved away', ({ page }) => by.patch(`/resources/${page.id}`, { parent_id: null })],
    ['unpublished with its folder', ({ folder }) => by.del(`/resources/${folder.id}/publish`)],
    ['trashed with its folder', ({ folder }) => by.del(`/resources/${folder.id}`)],
    ['restricted with its folder', ({ folder }) => by.patch(`/resources/${folder.id}`, { access_mode: 'restricted' })],
    ['left out', ({ folder }) => by.post(`/resources/${folder.id}/publish`, { include_children: false })],
    [
      'expired',
      ({ folder }) =>
        whileItLasts(async (expires_at) => (await by.post(`/resources/${folder.id}/publish`, { expires_at })).data),
    ],
    ['locked', ({ folder }) => by.post(`/resources/${folder.id}/publish`, { password: 'correct horse' })],
  ])('soon disappears when it is %s', async (_, act) => {
    const place = await published();
    const kept = await read(place.path);
    expect([kept.status, (await read(place.path)).headers.etag]).toEqual([200, kept.headers.etag]);
    await act(place);
    await soonReads(place.path, ({ status, text }) => {
      expect([403, 404]).toContain(status);
      expect(text).not.toContain('first words');
    });
    const again = await read(place.path, { 'If-None-Match': String(kept.headers.etag) });
    expect(again.status).not.toBe(304);
  });

  test('disappears when the Org disables publishing, and returns with it', async () => {
    const { path } = await published();
    await by.patch(`/orgs/${org.id}`, { settings: { allow_public_publishing: false } });
    try {
      await soonReads(path, ({ status }) => expect(status).toBe(404));
    } finally {
      await by.patch(`/orgs/${org.id}`, { settings: { allow_public_publishing: true } });
    }
    await soonReads(path, ({ status }) => expect(status).toBe(200));
  });
});

test('a publication of thousands of pages is searched completely, and nothing else', async () => {
  const slug = `l-${randomUUID().slice(0, 13)}`;
  const word = `zebra${randomUUID().slice(0, 6)}`;
  const folder = await create({ type: 'folder', name: 'Large' });
  const below = { parent_id: folder.id, workspace_id: undefined };
  const chapter = await create({ ...below, type: 'folder', name: 'Chapter' });
  const within = { parent_id: chapter.id, workspace_id: undefined };
  await Promise.all(
    Array.from({ length: 100 }, (_, i) => create({ ...within, name: `Page ${i}`, content: `Text ${i}.` })),
  );
  for (let chapters = 1; chapters < 21; chapters += 1) {
    const copied = await by.post(`/resources/${chapter.id}/copy`, {
      parent_id: folder.id,
      name: `Chapter ${chapters}`,
    });
    expect(copied.status).toBe(201);
  }
  const last = await create({ ...below, name: 'The very last', content: `Here is a ${word}.` });
  await create({ ...below, name: 'Restricted', content: word, access_mode: 'restricted' });
  await create({ name: 'Outside', content: word });
  await by.post(`/resources/${folder.id}/publish`, { slug });
  const found = async (query: string) =>
    [...(await read(`/p/${slug}?q=${query}`)).text.matchAll(/<li><a href="[^"]*">([^<]*)</g)].map(([, name]) => name);
  await eventually(async () => expect(await found(word)).toEqual(['The very last']));
  const { data } = await by.get<{ page_count: number }>(`/resources/${folder.id}/publish`);
  expect(data.page_count).toBe(2123);
  expect(await found('Chapter+17')).toEqual(['Chapter 17']);
  await by.patch(`/resources/${last.id}`, { access_mode: 'restricted' });
  await eventually(async () => expect(await found(word)).toEqual([]));
  expect(await system.said()).not.toContain('publications.index_unavailable');
}, 240_000);

test('a former slug redirects, including path and query', async () => {
  const { home, path, folder } = await published();
  const slug = `q-${randomUUID().slice(0, 13)}`;
  await by.post(`/resources/${folder.id}/publish`, { slug });
  await eventually(async () => {
    const { status, headers } = await read(path);
    expect([status, headers.location]).toEqual([301, `${system.baseUrl}/p/${slug}${path.slice(home.length)}`]);
  });
  for (const rest of ['?q=words&offset=20', '?format=md', `/files/${randomUUID()}/0123456789abcdef/plan.png`]) {
    const { status, headers } = await read(home + rest);
    expect([rest, status, headers.location]).toEqual([rest, 301, `${system.baseUrl}/p/${slug}${rest}`]);
  }
  expect((await read(`/p/${slug}/files/${randomUUID()}/0123456789abcdef/plan.png`)).status).toBe(404);
});

test('a page under an unknown host does not exist, and no response names one', async () => {
  const { path } = await published();
  const hosts = {
    'evil.example': 404,
    'docs.evil.example:80': 404,
    '127.0.0.1.evil.example': 404,
    '127.0.0.1:80.evil.example': 400,
  };
  for (const [host, wanted] of Object.entries(hosts)) {
    const { status, text, headers } = await read(path, { Host: host });
    expect([host, status]).toEqual([host, wanted]);
    expect(text).not.toContain('first words');
    const { 'x-request-id': _, ...others } = headers;
    expect(JSON.stringify([text, others])).not.toContain('evil');
  }
  expect((await read(path, { 'X-Forwarded-Host': 'evil.example' })).text).not.toContain('evil');
});

test('an id for analytics is stored and not shown to readers', async () => {
  const analytics = `UA-${randomUUID().slice(0, 8)}`;
  const { home, path, folder } = await published({ analytics_id: analytics, title: 'Measured' });
  const { data } = await by.get<{ analytics_id: string | null }>(`/resources/${folder.id}/publish`);
  expect(data.analytics_id).toBe(analytics);
  for (const one of [home, path, `${path}?format=md`, `${home}?q=first`]) {
    const { status, text, headers } = await read(one);
    expect([one, status]).toEqual([one, 200]);
    expect(JSON.stringify([text, headers])).not.toContain(analytics);
    expect(text).not.toMatch(/<script(?! type="application\/ld\+json")|<link[^>]+href="https?:(?![^"]*\/p\/)/);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none';/);
    expect(headers['content-security-policy']).not.toMatch(/script-src|connect-src|https?:/);
  }
  const cleared = await by.post<{ analytics_id: null }>(`/resources/${folder.id}/publish`, { analytics_id: null });
  expect(cleared.data.analytics_id).toBeNull();
});

test('page views of readers are counted', async () => {
  const { path, folder } = await published();
  for (let i = 0; i < 5; i += 1) await read(path);
  await eventually(async () => {
    const { data } = await by.get<Publication>(`/resources/${folder.id}/publish`);
    expect(data.view_count).toBeGreaterThanOrEqual(6);
  });
});

test('a password is required, can be tried ten times, and is in no log', async () => {
  const password = `correct-${randomUUID()}`;
  const { home } = await published({ password });
  const asked = await read(home);
  expect(asked.status).toBe(403);
  expect(asked.text).not.toContain('Folder');
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const given = await read(home, form, 'POST', `password=${password}`);
  expect(given.status).toBe(303);
  const cookie = String(given.headers['set-cookie']).split(';')[0] as string;
  expect((await read(home, { Cookie: cookie })).text).toContain('Folder');
  const wrong = await Promise.all(Array.from({ length: 12 }, () => read(home, form, 'POST', 'password=wrong-guess')));
  expect(wrong.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(2);
  const late = await read(home, form, 'POST', `password=${password}`);
  expect(late.status).toBe(429);
  expect(Number(late.headers['retry-after'])).toBeGreaterThan(300);
  const proof = decodeURIComponent(cookie.slice(cookie.indexOf('=') + 1));
  for (const said of [await system.said()]) {
    for (const secret of [password, proof]) expect(said).not.toContain(secret);
  }
});
