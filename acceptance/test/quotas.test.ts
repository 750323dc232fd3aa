import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { entriesOf, exported } from '../src/archives.js';
import type { Api, Reply } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { linkOf, type NewFile, newFile, putBytes } from '../src/files.js';
import { archive, inline } from '../src/imports.js';
import { newAddress, signIn, signUp, tokenOf } from '../src/people.js';
import type { Import, Member, Org, Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

const [QUOTA, MEMBERS, RESOURCES, WAITING, REQUESTS] = [100_000, 10, 50, 20, 4];
/** Number of concurrent requests. */
const AT_ONCE = 50;

let system: OwnSystem;
let by: Api;

beforeAll(async () => {
  system = await startSystem({
    COMMONPLACE_STORAGE_QUOTA_BYTES: String(QUOTA),
    COMMONPLACE_ORG_MEMBERS: String(MEMBERS),
    COMMONPLACE_WORKSPACE_RESOURCES: String(RESOURCES),
    COMMONPLACE_IMPORTS_WAITING: String(WAITING),
    COMMONPLACE_IMPORT_WORKERS: '0',
    COMMONPLACE_ACCESS_REQUESTS_PER_HOUR: String(REQUESTS),
  });
  by = await signIn(system, system.owner);
}, 180_000);
afterAll(() => system?.stop());

const atOnce = <T>(act: (at: number) => Promise<T>, count = AT_ONCE) =>
  Promise.all(Array.from({ length: count }, (_, at) => act(at)));

/** Returns the error's code, or the status of a success. */
const outcomeOf = (answer: Reply<unknown>): string => (answer.status < 300 ? `${answer.status}` : answer.error.code);

function tally(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** Creates a workspace in an empty Org. */
async function newTenant(): Promise<{ org: Org; workspace: Workspace }> {
  const { data: org } = await by.post<Org>('/orgs', { name: 'Tenant' });
  const { data: workspace } = await by.post<Workspace>('/workspaces', { name: 'Tenant', org_id: org.id });
  return { org, workspace };
}

describe('counted limits hold for 50 concurrent requests', () => {
  test('members of an Org', async () => {
    const { org } = await newTenant();
    const answers = await atOnce((at) => by.post(`/orgs/${org.id}/members`, { email: `m${at}.${org.id}@x.org` }));
    expect(tally(answers.map(outcomeOf))).toEqual({
      201: MEMBERS - 1,
      limit_reached: AT_ONCE - (MEMBERS - 1),
    });
  });

  test('resources of a workspace, for all ways of creation', async () => {
    const { workspace } = await newTenant();
    const create = (fields: object) => by.post<Resource>('/resources', { type: 'document', name: 'd', ...fields });
    const { data: folder } = await create({ type: 'folder', workspace_id: workspace.id });
    const answers = await atOnce(async (at) => {
      if (at % 3 === 0) return outcomeOf(await create({ parent_id: folder.id }));
      if (at % 3 === 1) return outcomeOf(await create({ workspace_id: workspace.id }));
      return outcomeOf(await newFile(by, { name: 'f', workspace_id: workspace.id }, 'x'));
    }, 70);
    expect(tally(answers)).toEqual({ 201: RESOURCES - 1, limit_reached: 70 - (RESOURCES - 1) });
    const { page } = await by.get(`/workspaces/${workspace.id}/resources?limit=1`);
    expect(page.total).toBe(RESOURCES);
    expect((await by.post(`/resources/${folder.id}/copy`)).error.code).toBe('limit_reached');
  });

  test('waiting imports', async () => {
    const { workspace } = await newTenant();
    const answers = await atOnce((at) =>
      by.post<Import>(
        `/workspaces/${workspace.id}/imports`,
        at % 2 === 0 ? { source_type: 'markdown', upload: true } : { source_type: 'markdown', content: '# Hello' },
      ),
    );
    expect(tally(answers.map(outcomeOf))).toEqual({
      201: WAITING,
      limit_reached: AT_ONCE - WAITING,
    });
  });
});

test('access requests of one person in an hour hold for 20 concurrent ones', async () => {
  const { org, workspace } = await newTenant();
  const email = newAddress('Asks');
  const { data: invited } = await by.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
  const other = await signUp(system, 'Asks', { email, invitation: tokenOf(invited.invite_url) });
  const pages = await atOnce(
    (at) => by.post<Resource>('/resources', { type: 'document', name: `${at}`, workspace_id: workspace.id }),
    20,
  );
  const answers = await Promise.all(
    pages.map(({ data }) => other.post(`/resources/${data.id}/access-requests`, { role: 'viewer' })),
  );
  expect(tally(answers.map(outcomeOf))).toEqual({ 201: REQUESTS, rate_limited: 20 - REQUESTS });
});

describe('the storage quota holds for 50 concurrent requests', () => {
  const SIZE = 10_000;
  const FIT = QUOTA / SIZE;
  const codes = (answers: readonly Reply<unknown>[]) => tally(answers.map(outcomeOf));
  const expected = { 201: FIT, storage_quota_exceeded: AT_ONCE - FIT };

  test('by files in the request, and by new versions of one', async () => {
    const { workspace } = await newTenant();
    const there = { workspace_id: workspace.id };
    const { data: first } = await newFile(by, { name: 'v', ...there }, Buffer.alloc(SIZE));
    const answers = await atOnce((at) =>
      newFile(
        by,
        at % 10 === 0 ? { replace_resource_id: first.resource.id } : { name: `f${at}`, ...there },
        Buffer.alloc(SIZE),
      ),
    );
    const refused = answers.filter((answer) => outcomeOf(answer) === 'storage_quota_exceeded');
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(FIT - 1);
    expect(refused.length).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
  });

  test('by started uploads, whose space is free again when they are deleted', async () => {
    const { workspace } = await newTenant();
    const begin = () => newFile(by, { name: 'f', workspace_id: workspace.id, size_bytes: SIZE });
    const answers = await atOnce(begin);
    expect(codes(answers)).toEqual(expected);
    const [one, ...others] = answers.filter(({ status }) => status === 201).map(({ data }) => data as NewFile);
    expect((await putBytes(one?.upload as never, Buffer.alloc(SIZE))).status).toBe(200);
    for (const { resource } of others) await by.del(`/resources/${resource.id}`);
    await by.del(`/workspaces/${workspace.id}/trash`);
    const again = await eventually(async () => {
      const more = await begin();
      expect(more.status).toBe(201);
      return more;
    }, 30_000);
    expect(again.data.file.status).toBe('pending_upload');
  });

  test('by uploads of unknown size, which are cut off', async () => {
    const { workspace } = await newTenant();
    // Fewer than the workspace accepts.
    const count = 40;
    const begun = await atOnce(() => newFile(by, { name: 'f', workspace_id: workspace.id }), count);
    expect(codes(begun)).toEqual({ 201: count });
    const answers = await atOnce(async (at) => {
      const upload = begun[at]?.data.upload;
      const headers = upload?.headers ?? {};
      const sized = { method: 'PUT', headers, body: new Uint8Array(SIZE) };
      // Every second one does not announce its length.
      const body = new ReadableStream({
        start(controller) {
          for (let piece = 0; piece < 10; piece++) controller.enqueue(new Uint8Array(SIZE / 10));
          controller.close();
        },
      });
      const request = at % 2 === 0 ? sized : { ...sized, body, duplex: 'half' };
      const answer = await fetch(upload?.url ?? '', request as RequestInit);
      return { status: answer.status, text: await answer.text() };
    }, count);
    const stored = answers.filter(({ status }) => status < 300).length;
    expect(stored).toBeGreaterThan(0);
    for (const { status, text } of answers) {
      if (status >= 300) expect([status, text]).toEqual([409, expect.stringContaining('storage_quota_exceeded')]);
    }
    // Interrupted uploads leave nothing behind: the expected number fits.
    for (let more = stored; more < FIT; more++) {
      await eventually(async () => {
        const { status } = await newFile(by, { name: 'f', workspace_id: workspace.id }, Buffer.alloc(SIZE));
        expect(status).toBe(201);
      });
    }
    expect((await newFile(by, { name: 'f', workspace_id: workspace.id }, 'x')).error.code).toBe(
      'storage_quota_exceeded',
    );
  });

  test('by copies of files', async () => {
    const { workspace } = await newTenant();
    const { data } = await newFile(by, { name: 'f', workspace_id: workspace.id }, Buffer.alloc(SIZE));
    await linkOf(by, data.resource.id);
    const answers = await atOnce(() => by.post(`/resources/${data.resource.id}/copy`), 30);
    expect(codes(answers)).toEqual({ 201: FIT - 1, storage_quota_exceeded: 30 - (FIT - 1) });
  });

  test('by copies of files into an empty workspace, of which none reserves space again after a lost race', async () => {
    const { org, workspace } = await newTenant();
    const { data } = await newFile(by, { name: 'f', workspace_id: workspace.id }, Buffer.alloc(SIZE));
    await linkOf(by, data.resource.id);
    const { data: empty } = await by.post<Workspace>('/workspaces', { name: 'Empty', org_id: org.id });
    const into = { workspace_id: empty.id };
    const answers = await atOnce(() => by.post(`/resources/${data.resource.id}/copy`, into), 30);
    expect(codes(answers)).toEqual({ 201: FIT - 1, storage_quota_exceeded: 30 - (FIT - 1) });
  });

  test('by sources of imports, which free their space when they are deleted', async () => {
    const { workspace } = await newTenant();
    const source = {
      source_type: 'markdown_zip',
      ...inline(archive({ 'a.bin': [Buffer.alloc(30_000), { level: 0 }] })),
    };
    const create = () => by.post<Import>(`/workspaces/${workspace.id}/imports`, source);
    const answers = await atOnce(create, 15);
    expect(codes(answers)).toEqual({ 201: 3, storage_quota_exceeded: 12 });
    const made = answers.find(({ status }) => status === 201);
    await by.del(`/imports/${made?.data.id}`);
  });
});

test('exports and sources share the temporary space, and an export makes room for the next one', async () => {
  const { org, workspace } = await newTenant();
  const { data: second } = await by.post<Workspace>('/workspaces', { name: 'Second', org_id: org.id });
  const there = [workspace, second];
  for (const { id } of there) {
    expect((await newFile(by, { name: 'f', workspace_id: id }, randomBytes(QUOTA / 2))).status).toBe(201);
  }
  const made = await Promise.all(there.map(({ id }) => exported(by, id)));
  expect(made.map(({ status }) => status).sort()).toEqual(['completed', 'failed']);
  expect(made.find(({ status }) => status === 'failed')?.error?.code).toBe('storage_quota_exceeded');
  const source = {
    source_type: 'markdown_zip',
    ...inline(archive({ 'a.bin': [Buffer.alloc(QUOTA / 2), { level: 0 }] })),
  };
  const refused = await by.post<Import>(`/workspaces/${workspace.id}/imports`, source);
  expect(outcomeOf(refused)).toBe('storage_quota_exceeded');
  const whole = made.findIndex(({ status }) => status === 'completed');
  const again = await exported(by, there[whole]?.id ?? '');
  expect(again.status).toBe('completed');
  expect((await entriesOf(again)).size).toBeGreaterThan(1);
}, 240_000);

test('space that a killed process had reserved is free again', async () => {
  const { workspace } = await newTenant();
  const place = { name: 'f', workspace_id: workspace.id };
  const { data } = await newFile(by, place);
  const stream = new ReadableStream({
    async pull(controller) {
      controller.enqueue(new Uint8Array(20_000));
      await sleep(300);
    },
  });
  const putting = fetch(data.upload?.url ?? '', { method: 'PUT', body: stream, duplex: 'half' } as RequestInit).catch(
    () => {},
  );
  await sleep(1_000);
  await system.kill();
  await putting;
  await system.restart();
  by = await signIn(system, system.owner);
  const full = await eventually(async () => {
    const answer = await newFile(by, place, Buffer.alloc(QUOTA));
    expect(outcomeOf(answer)).toBe('201');
    return answer;
  }, 90_000);
  expect(full.status).toBe(201);
}, 240_000);
