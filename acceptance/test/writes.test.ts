import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { newAddress, newKey, signUp } from '../src/people.js';
import type { ApiKey, Content, Member, Org, Resource, Tag, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

let system: System;
let by: Api;
let workspace: Workspace;
let list: string;

beforeAll(async () => {
  system = await standingSystem();
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Writes' })).data;
  list = `/workspaces/${workspace.id}/resources`;
});

async function newDocument(): Promise<Resource> {
  const body = { type: 'document', name: 'Document', workspace_id: workspace.id, content: 'Words' };
  return (await by.post<Resource>('/resources', body)).data;
}

describe('versions', () => {
  test('If-None-Match with the ETag answers 304 until something changes', async () => {
    const { id } = await newDocument();
    const first = await by.get<Resource>(`/resources/${id}`);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"v\d+\.[\w-]+"$/);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const headers = { 'If-None-Match': etag };
    const same = await by.get(`/resources/${id}`, { headers });
    expect([same.status, same.text, same.headers.get('etag')]).toEqual([304, '', etag]);
    await by.patch(`/resources/${id}`, { description: 'Changed' });
    const changed = await by.get<Resource>(`/resources/${id}`, { headers });
    expect([changed.status, changed.data.version > first.data.version]).toEqual([200, true]);
    expect(changed.headers.get('etag')).not.toBe(etag);
  });

  test('a write returns the ETag of its result, and If-Match accepts the ETag of any response', async () => {
    const { id } = await newDocument();
    const path = `/resources/${id}`;
    const first = await by.patch<Resource>(path, { name: 'One' });
    const match = { headers: { 'If-Match': first.headers.get('etag') ?? '' } };
    const second = await by.patch<Resource>(path, { name: 'Two' }, match);
    expect(second.data.version).toBe(first.data.version + 1);
    const stale = await by.patch(path, { name: 'Three' }, match);
    expect([stale.status, stale.error.code]).toEqual([409, 'version_conflict']);
    expect(stale.error.details).toMatchObject({
      current_version: second.data.version,
      updated_by: expect.anything(),
      updated_at: expect.any(String),
    });
    expect((await by.get<Resource>(path)).data.name).toBe('Two');
  });

  test('base_version in the body means the same, and both must agree', async () => {
    const { id, version } = await newDocument();
    const path = `/resources/${id}`;
    expect((await by.patch(path, { name: 'One', base_version: version + 7 })).error.code).toBe('version_conflict');
    expect((await by.patch(path, { name: 'One', base_version: version })).status).toBe(200);
    const headers = { 'If-Match': `"v${version}"` };
    expect((await by.patch(path, { name: 'Two', base_version: version + 1 }, { headers })).status).toBe(400);
    expect((await by.del(path, { headers })).error.code).toBe('version_conflict');
    expect((await by.del(`${path}?base_version=${version + 1}`)).status).toBe(200);
  });

  test('on content, the version is that of the content', async () => {
    const { id } = await newDocument();
    const path = `/resources/${id}/content`;
    const before = await by.get<Content>(path);
    await by.patch(`/resources/${id}`, { name: 'Renamed' });
    const headers = { 'If-Match': before.headers.get('etag') ?? '' };
    const after = await by.patch<Content>(path, { content: 'New words' }, { headers });
    expect(after.data.version).toBe(before.data.version + 1);
    expect((await by.get<Resource>(`/resources/${id}`)).data.content_version).toBe(after.data.version);
  });

  test('a wrong value is refused before a stale version and an archived workspace', async () => {
    const person = await signUp(system, 'Ada');
    const { data: org } = await person.post<Org>('/orgs', { name: 'Order' });
    const { data: place } = await person.post<Workspace>('/workspaces', { name: 'Order', org_id: org.id });
    const { data: invited } = await person.post<Member>(`/orgs/${org.id}/members`, { email: newAddress('Eve') });
    const { data: tag } = await person.post<Tag>(`/workspaces/${place.id}/tags`, { name: 'kept' });
    const tags = `/workspaces/${place.id}/tags`;
    const wrong: readonly (readonly [string, string, object | undefined, string])[] = [
      ['PATCH', `/orgs/${org.id}`, { slug: '-' }, 'invalid_slug'],
      ['PATCH', `/orgs/${org.id}`, { settings: { url_allowlist: ['no url'] } }, 'invalid_url'],
      ['DELETE', `/orgs/${org.id}?confirm=other`, undefined, 'invalid_value'],
      ['PATCH', `/orgs/${org.id}/members/${invited.id}`, { status: 'suspended' }, 'invalid_value'],
      ['DELETE', `/orgs/${org.id}/members/${invited.id}?transfer_to_member_id=${org.id}`, undefined, 'invalid_value'],
      ['PATCH', `/workspaces/${place.id}`, { slug: '-' }, 'invalid_slug'],
      ['PATCH', `/workspaces/${place.id}`, { settings: { timezone: 'Nowhere' } }, 'invalid_timezone'],
      ['POST', tags, { name: 'new', color: '#1' }, 'invalid_value'],
      ['POST', tags, { operation: 'update', tag_id: tag.id, color: '#1' }, 'invalid_value'],
      ['POST', tags, { operation: 'update', tag_id: org.id, name: 'new' }, 'not_found'],
      ['POST', tags, { operation: 'merge', tag_id: tag.id, into_tag_id: tag.id }, 'invalid_value'],
    ];
    const headers = { 'If-Match': '"v99"' };
    const codes = () =>
      Promise.all(
        wrong.map(async ([method, path, body]) => (await person.send(method, path, body, { headers })).error.code),
      );
    const expected = wrong.map(([, , , code]) => code);
    expect(await codes()).toEqual(expected);
    await person.post(`/workspaces/${place.id}/archive`);
    expect(await codes()).toEqual(expected);
    expect((await person.post(tags, { name: 'new' })).error.code).toBe('workspace_archived');
    expect((await person.patch(`/orgs/${org.id}`, { slug: 'order' }, { headers })).error.code).toBe('version_conflict');
  });

  test('an empty PATCH is 400 no_update_field', async () => {
    const { id } = await newDocument();
    for (const path of [`/resources/${id}`, `/workspaces/${workspace.id}`]) {
      expect((await by.patch(path, {})).error.code).toBe('no_update_field');
    }
  });
});

describe('Idempotency-Key', () => {
  const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } });

  test('the same request again gets the first response, and does nothing', async () => {
    const body = { type: 'folder', name: 'Once', workspace_id: workspace.id };
    const key = randomUUID();
    const first = await by.post<Resource>('/resources', body, keyed(key));
    const again = await by.post<Resource>('/resources', body, keyed(`"${key}"`));
    expect([again.status, again.data]).toEqual([first.status, first.data]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('original-request-id')).toBe(first.body.request_id);
    expect(again.body.request_id).not.toBe(first.body.request_id);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect((await by.get(`${list}?q=Once&type=folder`)).page.total).toBe(1);
  });

  test('a slash at the end of the path makes no difference', async () => {
    const body = { type: 'folder', name: 'Slash', workspace_id: workspace.id };
    const key = randomUUID();
    const first = await by.post<Resource>('/resources', body, keyed(key));
    const again = await by.post<Resource>('/resources/', body, keyed(key));
    expect([again.status, again.data.id]).toEqual([201, first.data.id]);
  });

  test('another body with the same key is 409 idempotency_key_reused', async () => {
    const body = { type: 'folder', name: 'Reused', workspace_id: workspace.id };
    const key = randomUUID();
    await by.post('/resources', body, keyed(key));
    const other = await by.post('/resources', { ...body, name: 'Another' }, keyed(key));
    expect([other.status, other.error.code]).toEqual([409, 'idempotency_key_reused']);
    const elsewhere = await by.post('/workspaces', { name: 'Elsewhere' }, keyed(key));
    expect(elsewhere.status).toBe(201);
  });

  test('a key is separate for each credential', async () => {
    const body = { type: 'folder', name: 'Own', workspace_id: workspace.id };
    const key = randomUUID();
    const first = await by.post<Resource>('/resources', body, keyed(key));
    const other = api(system, (await newKey(by, ['resource:write'])).key);
    const second = await other.post<Resource>('/resources', body, keyed(key));
    expect(second.data.id).not.toBe(first.data.id);
  });

  test('secrets are not returned again', async () => {
    const body = { name: 'Secret', scopes: ['org:read'] };
    const key = randomUUID();
    const first = await by.post<ApiKey>('/api-keys', body, keyed(key));
    const again = await by.post<ApiKey>('/api-keys', body, keyed(key));
    expect(first.data.key).toMatch(/^wsk_p_/);
    expect([again.status, again.data.id, again.data.key]).toEqual([201, first.data.id, undefined]);
    expect(again.body.warnings).toMatchObject([{ code: 'secret_not_replayed' }]);
  });

  test('one of many concurrent requests takes effect', async () => {
    const body = { type: 'folder', name: 'Concurrent', workspace_id: workspace.id };
    const key = randomUUID();
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => by.post<Resource>('/resources', body, keyed(key))),
    );
    const made = replies.filter(({ status }) => status === 201);
    const waiting = replies.filter(({ status }) => status !== 201);
    expect(new Set(made.map(({ data }) => data.id)).size).toBe(1);
    expect(made.filter(({ headers }) => headers.get('idempotency-replayed') !== 'true')).toHaveLength(1);
    for (const { status, error, headers } of waiting) {
      expect([status, error.code, headers.get('retry-after')]).toEqual([409, 'idempotency_in_progress', '1']);
    }
    expect((await by.get(`${list}?q=Concurrent`)).page.total).toBe(1);
  });

  test('refusals because of state are kept, and errors in the request are not', async () => {
    const { id } = await newDocument();
    const key = randomUUID();
    const stale = { headers: { 'Idempotency-Key': key, 'If-Match': '"v99"' } };
    expect((await by.patch(`/resources/${id}`, { name: 'x' }, stale)).error.code).toBe('version_conflict');
    const again = await by.patch(`/resources/${id}`, { name: 'x' }, stale);
    expect([again.error.code, again.headers.get('idempotency-replayed')]).toEqual(['version_conflict', 'true']);
    const other = randomUUID();
    const wrong = { type: 'folder', workspace_id: workspace.id };
    expect((await by.post('/resources', wrong, keyed(other))).status).toBe(400);
    expect((await by.post('/resources', { ...wrong, name: 'Right' }, keyed(other))).status).toBe(201);
  });
});
