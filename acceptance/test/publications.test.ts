import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { type Person, signIn } from '../src/people.js';
import type { Fault, List, Org, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

interface Publication {
  readonly id: string;
  readonly resource_id: string | null;
  readonly slug: string;
  readonly url: string;
  readonly status: string;
  readonly visibility: string;
  readonly mode: string;
  readonly page_count: number;
  readonly published_version: number | null;
  readonly domains: readonly {
    domain: string;
    status: string;
    dns_records: { type: string; name: string; value: string }[];
  }[];
  readonly version: number;
  readonly published_by: { name: string };
}

type Published = Resource & { readonly publication: { status: string; url: string } | null };

const FIELDS = [
  ...[
    'id',
    'resource_id',
    'workspace_id',
    'slug',
    'url',
    'status',
    'visibility',
    'is_password_protected',
    'expires_at',
  ],
  ...['include_children', 'allow_indexing', 'mode', 'published_version', 'domains', 'page_count', 'view_count'],
  ...['title', 'description', 'image_file_id', 'theme', 'show_toc', 'show_author', 'allow_copy', 'allow_download'],
  ...['analytics_id', 'published_by', 'published_at', 'updated_at', 'version'],
];

let system: System;
let by: Person;
let org: Org;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  by = await signIn(system, system.owner);
  org = (await by.post<Org>('/orgs', { name: 'Publishers' })).data;
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Published', org_id: org.id })).data;
});

const slugFor = (name: string) => `${name}-${randomUUID().slice(0, 8)}`;
const create = async (fields: object = {}) =>
  (await by.post<Published>('/resources', { type: 'document', name: 'Page', workspace_id: workspace.id, ...fields }))
    .data;
const publishPath = (id: string) => `/resources/${id}/publish`;

describe('POST /resources/{resource_id}/publish', () => {
  test('returns the whole record, 201 first and 200 later, and the resource shows it', async () => {
    const slug = slugFor('first');
    const { id } = await create({ content: '# Hello' });
    expect((await by.get(publishPath(id))).data).toEqual({ status: 'unpublished', resource_id: id });
    const made = await by.post<Publication>(publishPath(id), { slug });
    expect(made.status).toBe(201);
    expect(Object.keys(made.data).sort()).toEqual([...FIELDS].sort());
    expect(made.data).toMatchObject({
      resource_id: id,
      slug,
      url: `${system.baseUrl}/p/${slug}`,
      status: 'active',
      visibility: 'unlisted',
      is_password_protected: false,
      expires_at: null,
      include_children: true,
      allow_indexing: false,
      mode: 'live',
      published_version: 1,
      domains: [],
      page_count: 1,
      view_count: 0,
      version: 1,
    });
    const later = await by.post<Publication>(publishPath(id), { title: 'Other', visibility: 'public' });
    expect([later.status, later.data.version, later.data.visibility]).toEqual([200, 2, 'public']);
    expect((await by.get(publishPath(id))).data).toEqual(later.data);
    const publication = { status: 'active', url: made.data.url };
    expect((await by.get<Published>(`/resources/${id}`)).data.publication).toEqual(publication);
    const { items } = (await by.get<List<Published>>(`/workspaces/${workspace.id}/resources`)).data;
    expect(items.find((one) => one.id === id)?.publication).toEqual(publication);
    const stale = await by.post(publishPath(id), { title: 'X' }, { headers: { 'If-Match': '"v1"' } });
    expect([stale.status, stale.error.code]).toEqual([409, 'version_conflict']);
    const same = await by.post<Publication>(publishPath(id), {}, { headers: { 'If-Match': '"v2"' } });
    expect([same.status, same.data.visibility]).toEqual([200, 'public']);
    const copy = await by.post<{ resource: Published }>(`/resources/${id}/copy`, {});
    expect(copy.data.resource.publication).toBeNull();
  });

  test('reports every error, and publishes nothing then', async () => {
    const { id } = await create();
    const wrong = await by.post(publishPath(id), {
      slug: 3,
      visibility: 'open',
      password: 'short',
      expires_at: 'tomorrow',
      colour: 'red',
      mode: 'frozen',
    });
    expect(wrong.status).toBe(400);
    const params = (wrong.error.details as readonly Fault[]).map(({ param }) => param).sort();
    expect(params).toEqual(['colour', 'expires_at', 'mode', 'password', 'slug', 'visibility']);
    expect((await by.post(publishPath(id), { slug: 'A Slug' })).error.code).toBe('invalid_slug');
    const meant = await by.post(publishPath(id), { visibility: 'password', expires_at: '2020-01-01T00:00:00Z' });
    expect((meant.error.details as readonly Fault[]).map(({ param }) => param)).toEqual(['password', 'expires_at']);
    expect((await by.post(publishPath(randomUUID()), {})).status).toBe(404);
    expect((await by.post('/resources/x/publish', {})).error.code).toBe('invalid_id');
    expect((await by.get(publishPath(id))).data).toEqual({ status: 'unpublished', resource_id: id });
  });

  test('reserves slugs and domains for one publication', async () => {
    const slug = slugFor('mine');
    const domain = `${slugFor('docs')}.example.com`;
    const [one, other] = [await create(), await create()];
    const made = await by.post<Publication>(publishPath(one.id), { slug, custom_domains: [domain.toUpperCase()] });
    expect(made.data.domains).toMatchObject([
      {
        domain,
        status: 'pending_dns',
        certificate: 'none',
        last_checked_at: null,
        dns_records: [
          { type: 'TXT', name: `_wsk-verify.${domain}`, ok: false },
          { type: 'CNAME', name: domain, ok: false },
        ],
      },
    ]);
    expect((await by.post(publishPath(other.id), { slug })).error.code).toBe('slug_taken');
    // A claim does not prevent others from proving that the domain is theirs, by a record of their own.
    const claimed = await by.post<Publication>(publishPath(other.id), { custom_domains: [domain] });
    const proofOf = ({ data }: typeof claimed) => data.domains[0]?.dns_records[0]?.value;
    expect(claimed.data.domains).toMatchObject([{ domain, status: 'pending_dns' }]);
    expect(proofOf(claimed)).not.toBe(proofOf(made));
    const rest = await by.post<Publication>(publishPath(one.id), { custom_domains: [] });
    expect(rest.data.domains).toEqual([]);
    expect((await by.post<Publication>(publishPath(other.id), { custom_domains: [domain] })).status).toBeLessThan(300);
    for (const name of ['127.0.0.1', 'localhost', 'a..b', 'https://x.example.com', '_x.example.com', 'single']) {
      const refused = await by.post(publishPath(one.id), { custom_domains: [name] });
      expect([name, refused.status, refused.error.param]).toEqual([name, 400, 'custom_domains[0]']);
    }
  });

  test('one of several concurrent requests gets a slug', async () => {
    const slug = slugFor('race');
    const items = await Promise.all(Array.from({ length: 6 }, () => create()));
    const answers = await Promise.all(items.map(({ id }) => by.post(publishPath(id), { slug })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
  });

  test('the same key gets the same response, and no response or list contains the password', async () => {
    const { id } = await create();
    const headers = { 'Idempotency-Key': randomUUID() };
    const password = `correct-${randomUUID()}`;
    const first = await by.post<Publication>(publishPath(id), { password }, { headers });
    const again = await by.post<Publication>(publishPath(id), { password }, { headers });
    expect([first.status, again.status, again.data]).toEqual([201, 201, first.data]);
    expect(first.data).toMatchObject({ visibility: 'password', is_password_protected: true, version: 1 });
    for (const said of [first.text, (await by.get(publishPath(id))).text, await system.said()]) {
      expect(said).not.toContain(password);
    }
  });

  test('is refused if the Org has disabled publishing', async () => {
    const { id } = await create();
    await by.post(publishPath(id), {});
    await by.patch(`/orgs/${org.id}`, { settings: { allow_public_publishing: false } });
    try {
      await eventually(async () => {
        expect((await by.post(publishPath(id), {})).status).toBe(403);
      });
      expect((await by.post(publishPath(id), {})).error.code).toBe('publishing_disabled');
      expect((await by.get<Publication>(publishPath(id))).data.status).toBe('suspended');
    } finally {
      await by.patch(`/orgs/${org.id}`, { settings: { allow_public_publishing: true } });
    }
    await eventually(async () => {
      expect((await by.post(publishPath(id), {})).status).toBe(200);
    });
  });
});

describe('DELETE /resources/{resource_id}/publish', () => {
  test('reserves the slug for the same item', async () => {
    const slug = slugFor('gone');
    const { id } = await create();
    const { data } = await by.post<Publication>(publishPath(id), { slug });
    const deleted = await by.del<{ id: string; deleted: boolean; slug_reserved_until: string }>(publishPath(id));
    expect([deleted.status, deleted.data.id, deleted.data.deleted]).toEqual([200, data.id, true]);
    expect(Date.parse(deleted.data.slug_reserved_until) - Date.now()).toBeGreaterThan(29 * 86_400_000);
    expect((await by.get(publishPath(id))).data).toEqual({ status: 'unpublished', resource_id: id });
    expect((await by.get<Published>(`/resources/${id}`)).data.publication).toBeNull();
    const other = await create();
    expect((await by.post(publishPath(other.id), { slug })).error.code).toBe('slug_taken');
    const back = await by.post<Publication>(publishPath(id), {});
    expect([back.status, back.data.slug]).toEqual([201, slug]);
    expect((await by.del(publishPath(other.id))).status).toBe(404);
  });
});

describe('the publication of a workspace', () => {
  test('is created once, changed, unpublished and published again', async () => {
    const own = (await by.post<Workspace>('/workspaces', { name: 'Whole', org_id: org.id })).data;
    const path = `/workspaces/${own.id}/publish`;
    expect((await by.get(path)).data).toEqual({ status: 'unpublished' });
    expect((await by.patch(path, { is_active: false })).status).toBe(404);
    await by.post('/resources', { type: 'document', name: 'Open', workspace_id: own.id });
    await by.post('/resources', { type: 'document', name: 'Closed', workspace_id: own.id, access_mode: 'restricted' });
    const slug = slugFor('whole');
    const made = await by.post<Publication>(path, { slug });
    expect([made.status, made.data.page_count, made.data.resource_id]).toEqual([201, 2, null]);
    expect(Object.keys(made.data).sort()).toEqual([...FIELDS].sort());
    expect((await by.post(path, {})).error.code).toBe('already_exists');
    expect((await by.patch(path, {})).error.code).toBe('no_update_field');
    const down = await by.patch<Publication>(path, { isActive: false });
    expect([down.status, down.data.status, down.data.slug]).toEqual([200, 'unpublished', slug]);
    const both = await by.patch(path, { isActive: false, is_active: true });
    expect(both.error.code).toBe('conflicting_alias');
    const up = await by.patch<Publication>(path, { is_active: true, title: 'Hello' });
    expect([up.status, up.data.status, up.data.version]).toEqual([200, 'active', 3]);
    const cleared = await by.patch<Publication>(path, { title: null });
    expect(cleared.data).toMatchObject({ title: null, version: 4 });
    const stale = await by.patch(path, { title: 'X', base_version: 1 });
    expect(stale.error.code).toBe('version_conflict');
  });
});

describe('published content', () => {
  test('is pinned unchanged', async () => {
    const folder = await create({ type: 'folder', name: 'Folder' });
    const page = await create({ parent_id: folder.id, workspace_id: undefined, content: 'old' });
    await create({ parent_id: folder.id, workspace_id: undefined, type: 'table', name: 'T', columns: [{ name: 'A' }] });
    const made = await by.post<Publication>(publishPath(folder.id), { mode: 'pinned' });
    expect([made.data.mode, made.data.page_count]).toEqual(['pinned', 3]);
    await create({ parent_id: folder.id, workspace_id: undefined });
    expect((await by.get<Publication>(publishPath(folder.id))).data.page_count).toBe(3);
    await by.del(`/resources/${page.id}`);
    expect((await by.get<Publication>(publishPath(folder.id))).data.page_count).toBe(2);
    expect((await by.post<Publication>(publishPath(folder.id), {})).data.page_count).toBe(3);
  });

  test('is deleted permanently with a purged resource', async () => {
    const slug = slugFor('purged');
    const folder = await create({ type: 'folder', name: 'Folder' });
    const page = await create({ parent_id: folder.id, workspace_id: undefined, content: 'text' });
    await by.post(publishPath(page.id), { slug, mode: 'pinned' });
    await by.post(publishPath(folder.id), { mode: 'pinned' });
    await by.del(`/resources/${page.id}`);
    const purged = await by.del(`/workspaces/${workspace.id}/trash?resource_ids=${page.id}`);
    expect(purged.status).toBe(200);
    expect((await by.get<Publication>(publishPath(folder.id))).data.page_count).toBe(1);
    const other = await create();
    expect((await by.post<Publication>(publishPath(other.id), { slug })).status).toBe(201);
  });
});

test('a folder with many pages shows them in ranges, and beside one of them those around it', async () => {
  const [slug, folder] = [slugFor('many'), await create({ type: 'folder', name: 'Many' })];
  const names = Array.from({ length: 205 }, (_, i) => `Page ${String(i).padStart(3, '0')}`);
  for (const name of names) await create({ parent_id: folder.id, name });
  await by.post(publishPath(folder.id), { slug });
  const read = async (path: string) => (await fetch(`${system.baseUrl}/p/${slug}${path}`)).text();
  const first = await read('');
  expect(first).toContain(`<a rel="next" href="/p/${slug}?offset=100">Next pages</a>`);
  expect(first).toContain('105 more pages, found by the search.');
  const last = await read('?offset=200');
  expect(last).toContain(`<a rel="prev" href="/p/${slug}?offset=100">Previous pages</a>`);
  expect(last).not.toContain('rel="next"');
  const [, page = ''] = /href="\/p\/[^"]*(\/page-204-[^"]*)"/.exec(last) ?? [];
  const beside = await read(page);
  expect(['Page 104<', 'Page 105<', 'Page 204<'].map((name) => beside.includes(name))).toEqual([false, true, true]);
  expect(await read('?format=md')).toContain(`[105 more](/p/${slug}?format=md&offset=100)`);
  const sitemap = await (await fetch(`${system.baseUrl}/sitemap.xml`)).text();
  expect(sitemap).not.toContain(slug);
});
