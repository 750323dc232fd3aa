import { api } from '@commonplace/acceptance/dist/src/client.js';
import { eventually } from '@commonplace/acceptance/dist/src/eventually.js';
import type { Resource, Workspace } from '@commonplace/acceptance/dist/src/records.js';
import { operatedSystem } from '@commonplace/acceptance/dist/src/standing.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commonplace } from '../commonplace.js';

let system: Awaited<ReturnType<typeof operatedSystem>>;
beforeAll(async () => {
  system = await operatedSystem();
}, 120_000);
afterAll(() => system?.stop());

async function publications(...args: string[]) {
  const { code, stdout } = await commonplace(['publications', ...args, '--json'], system.places);
  return { code, answer: JSON.parse(stdout) };
}

test('blocks a publication while the system runs, and its editors cannot unblock it', async () => {
  const by = api(system, system.owner.apiKey);
  const workspace = (await by.post<Workspace>('/workspaces', { name: 'Public' })).data;
  const page = { type: 'document', name: 'Notice', content: 'To be read by all.', workspace_id: workspace.id };
  const { id } = (await by.post<Resource>('/resources', page)).data;
  const path = `/resources/${id}/publish`;
  const body = { slug: 'a-notice', visibility: 'public', allow_indexing: true };
  const { data: made } = await by.post<{ id: string; url: string }>(path, body);
  const read = async () => (await fetch(made.url)).status;
  await eventually(async () => expect(await read()).toBe(200));

  const suspended = await publications('suspend', 'a-notice');
  expect([suspended.code, suspended.answer.id]).toEqual([0, made.id]);
  expect(suspended.answer.suspendedAt).toMatch(/^20/);
  await eventually(async () => expect(await read()).toBe(404));
  expect((await by.get(path)).data).toMatchObject({ status: 'suspended' });
  for (const attempt of [by.post(path, body), by.post(path, {}), by.del(path)]) {
    const { status, error } = await attempt;
    expect([status, error.code]).toEqual([409, 'publication_suspended']);
  }
  expect(await read()).toBe(404);
  expect((await publications('suspend', made.id)).answer.suspendedAt).toBe(suspended.answer.suspendedAt);

  expect((await publications('resume', made.id)).answer).toMatchObject({ slug: 'a-notice', suspendedAt: null });
  await eventually(async () => expect(await read()).toBe(200));
  expect((await by.get(path)).data).toMatchObject({ status: 'active' });
});

test('a suspended workspace can be unpublished, and not published', async () => {
  const by = api(system, system.owner.apiKey);
  const { id } = (await by.post<Workspace>('/workspaces', { name: 'All of it' })).data;
  const path = `/workspaces/${id}/publish`;
  await by.post(path, { slug: 'all-of-it' });
  expect((await publications('suspend', 'all-of-it')).code).toBe(0);
  expect((await by.post(path, {})).error.code).toBe('publication_suspended');
  expect((await by.patch(path, { is_active: true })).error.code).toBe('publication_suspended');
  expect((await by.patch(path, { is_active: false })).data).toMatchObject({ status: 'unpublished' });
  expect((await by.patch(path, { is_active: true })).error.code).toBe('publication_suspended');
  await publications('resume', 'all-of-it');
  expect((await by.patch(path, { is_active: true })).data).toMatchObject({ status: 'active' });
});

test('reports an unknown publication', async () => {
  const { code, answer } = await publications('suspend', 'no-such-slug');
  expect([code, answer.error.exit_code]).toEqual([66, 66]);
});
