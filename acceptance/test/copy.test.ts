import { beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type FileLink, newFile } from '../src/files.js';
import { signUp } from '../src/people.js';
import type { Content, List, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

interface Copied {
  readonly resource: Resource;
  readonly copied_count: number;
  readonly skipped: readonly { readonly id: string; readonly reason: string }[];
  readonly skipped_count: number;
  readonly status: string;
}

let system: System;
let boss: Api;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  boss = api(system, system.owner.apiKey);
  workspace = (await boss.post<Workspace>('/workspaces', { name: 'Copies' })).data;
});

async function create(fields: object): Promise<Resource> {
  return (await boss.post<Resource>('/resources', { type: 'folder', workspace_id: workspace.id, ...fields })).data;
}

async function below(id: string): Promise<readonly Resource[]> {
  const all: Resource[] = [];
  for (let offset = 0; ; offset += 200) {
    const path = `/workspaces/${workspace.id}/resources?parent_id=${id}&recursive=true&limit=200&offset=${offset}`;
    const { items } = (await boss.get<List<Resource>>(path)).data;
    all.push(...items);
    if (items.length < 200) return all;
  }
}

/** Reads a list by type, because other lists omit attachments. */
async function filesBelow(id: string): Promise<readonly Resource[]> {
  const path = `/workspaces/${workspace.id}/resources?parent_id=${id}&type=file`;
  return (await boss.get<List<Resource>>(path)).data.items;
}

test('a copy has the contents of its source, refers to its own parts and is found', async () => {
  const head = await create({ name: 'Handbook' });
  const page = await create({ name: 'Page', type: 'document', parent_id: head.id, content: 'About quokkas.\n' });
  const links = `Read [the page](resource:${page.id}).\n`;
  await create({ name: 'Start', type: 'document', parent_id: head.id, content: links });
  const { status, data } = await boss.post<Copied>(`/resources/${head.id}/copy`, {});
  expect(status).toBe(201);
  expect(data).toMatchObject({ copied_count: 3, skipped: [], skipped_count: 0, status: 'completed' });
  expect(data.resource).toMatchObject({ name: 'Handbook copy', parent_id: null, child_count: 2 });
  const copies = await below(data.resource.id);
  const named = (name: string) => copies.find((one) => one.name === name)?.id ?? '';
  const { content } = (await boss.get<Content>(`/resources/${named('Start')}/content`)).data;
  expect(content).toBe(links.replace(page.id, named('Page')));
  await eventually(async () => {
    const body = { query: 'quokkas', workspace_ids: [workspace.id] };
    const { items } = (await boss.post<List<{ resource: { id: string } }>>('/search', body)).data;
    expect(JSON.stringify(items)).toContain(named('Page'));
  });
});

test('a file that a document shows is copied with its bytes, also without other children', async () => {
  const page = await create({ name: 'Shown', type: 'document', content: '' });
  const bytes = Buffer.from('Bytes to share.');
  const file = (await newFile(boss, { name: 'shown.txt', parent_id: page.id }, bytes)).data.resource;
  await newFile(boss, { name: 'pending.bin', parent_id: page.id, size_bytes: 5 });
  await boss.patch(`/resources/${page.id}/content`, { content: `![It](resource:${file.id})\n` });
  const bare = (await boss.post<Copied>(`/resources/${page.id}/copy`, { include_children: false })).data;
  expect([bare.copied_count, bare.skipped]).toEqual([2, []]);
  const [copied] = await filesBelow(bare.resource.id);
  const { content } = (await boss.get<Content>(`/resources/${bare.resource.id}/content`)).data;
  expect(content).toBe(`![It](resource:${copied?.id})\n`);
  await boss.del(`/resources/${page.id}`);
  const link = (await boss.get<FileLink>(`/resources/${copied?.id}/file`)).data;
  expect(await (await fetch(link.download_url)).text()).toBe(bytes.toString());
});

test('a file without bytes is not copied', async () => {
  const head = await create({ name: 'Waiting' });
  const { id } = (await newFile(boss, { name: 'pending.bin', parent_id: head.id, size_bytes: 5 })).data.resource;
  const { data } = await boss.post<Copied>(`/resources/${head.id}/copy`, {});
  expect(data).toMatchObject({ copied_count: 1, skipped: [{ id, reason: 'file_not_ready' }] });
  const alone = await boss.post(`/resources/${id}/copy`, {});
  expect([alone.status, alone.error.code]).toEqual([409, 'file_not_ready']);
});

test('the same request under the same key creates one copy', async () => {
  const source = await create({ name: 'Once' });
  const send = () =>
    boss.post<Copied>(`/resources/${source.id}/copy`, { name: 'Only' }, { headers: { 'Idempotency-Key': source.id } });
  const first = await send();
  const again = await send();
  expect(again.data.resource.id).toBe(first.data.resource.id);
});

test('more than 200 resources are copied after the response', async () => {
  const head = await create({ name: 'Large' });
  const inside = await create({ name: 'Inside', parent_id: head.id });
  for (let at = 0; at < 260; at += 20) {
    const one = (i: number) => create({ name: `Page ${at + i}`, type: 'document', parent_id: inside.id, content: 'x' });
    await Promise.all(Array.from({ length: 20 }, (_, i) => one(i)));
  }
  const { status, data } = await boss.post<Copied>(`/resources/${head.id}/copy`, { name: 'Large too' });
  expect(status).toBe(202);
  expect(data).toMatchObject({ copied_count: 262, status: 'running', resource: { name: 'Large too' } });
  await eventually(async () => expect(await below(data.resource.id)).toHaveLength(261), 30_000);
  const names = new Set((await below(data.resource.id)).map(({ name }) => name));
  expect(names.size).toBe(261);
});

test('another person copies what they may read, and cannot copy into another tenant', async () => {
  const person = await signUp(system, 'Editor');
  await boss.post(`/workspaces/${workspace.id}/members`, { user_id: person.user.id, role: 'editor' });
  const head = await create({ name: 'Mixed' });
  await create({ name: 'Open', parent_id: head.id });
  const secret = await create({ name: 'Secret', parent_id: head.id, access_mode: 'restricted' });
  const { status, data, text } = await person.post<Copied>(`/resources/${head.id}/copy`, {});
  expect(status).toBe(201);
  expect(data).toMatchObject({
    copied_count: 2,
    skipped: [{ id: secret.id, reason: 'not_readable' }],
    skipped_count: 1,
  });
  expect(text).not.toContain('Secret');
  const org = (await person.post<{ id: string }>('/orgs', { name: 'Other' })).data;
  const other = (await person.post<Workspace>('/workspaces', { name: 'Elsewhere', org_id: org.id })).data;
  const across = await person.post(`/resources/${head.id}/copy`, { workspace_id: other.id });
  expect([across.status, across.error.code]).toEqual([403, 'tenant_boundary']);
});
