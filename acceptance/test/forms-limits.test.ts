import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type FormAnswer, newForm } from '../src/forms.js';
import type { Resource, Workspace } from '../src/records.js';
import { type StandingSystem, standingSystem } from '../src/standing.js';

let system: StandingSystem;
let by: Api;
let form: FormAnswer['form'];

beforeAll(async () => {
  system = await standingSystem('tight');
  by = api(system, system.owner.apiKey);
  const { data } = await by.post<Workspace>('/workspaces', { name: 'W' });
  const fields = [{ id: 'name', type: 'short_text', label: 'Name' }];
  form = (await newForm(by, data.id, { title: 'Ask', fields })).form;
}, 180_000);

afterAll(() => system?.stop());

test("a visitor is limited on the page and by the form's credential together, with a readable message", async () => {
  const page = await (await fetch(form.public_url ?? '')).text();
  const [credential = ''] = /wsf_[\w.-]+/.exec(page) ?? [];
  const body = new URLSearchParams({ credential, name: 'Ada' });
  const onPage = () => fetch(form.public_url ?? '', { method: 'POST', body });
  const byApi = () => api(system, credential).post(`/forms/${form.token}/submit`, { values: { name: 'Bob' } });
  expect([(await onPage()).status, (await byApi()).status]).toEqual([200, 201]);
  const refused = await onPage();
  expect([refused.status, refused.headers.get('content-type')]).toEqual([429, expect.stringContaining('text/html')]);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const { status, error } = await byApi();
  expect([status, error]).toMatchObject([429, { code: 'rate_limited', details: { policy: 'visitor' } }]);
  for (let i = 0; i < 4; i++)
    expect((await by.post(`/forms/${form.token}/submit`, { values: { name: 'Key' } })).status).toBe(201);
});

test('deliveries to a webhook are limited', async () => {
  const deliver = async () => (await api(system).post(`/hooks/forms/${form.webhook_token}`, { name: 'Ada' })).status;
  expect([await deliver(), await deliver(), await deliver()]).toEqual([201, 201, 429]);
});

test('searches in publications are limited for each address, with a readable message', async () => {
  const { data: workspaces } = await by.get<Workspace[]>('/workspaces');
  const document = { type: 'document', name: 'Garden', workspace_id: workspaces[0]?.id, content: 'Ferns grow here.' };
  const { data } = await by.post<Resource>('/resources', document);
  await by.post(`/resources/${data.id}/publish`, { visibility: 'public', slug: 'garden' });
  await eventually(async () => {
    const { page } = await by.post('/search', { query: 'ferns', workspace_ids: [data.workspace_id] });
    expect(page.total).toBe(1);
  });
  const search = (words: string) => fetch(`${system.baseUrl}/p/garden?q=${words}`);
  const found = await Promise.all([search('ferns'), search('grow')]);
  expect(found.map(({ status }) => status)).toEqual([200, 200]);
  expect(await found[0]?.text()).toContain('Garden');
  const refused = await search('ferns');
  expect([refused.status, refused.headers.get('content-type')]).toEqual([429, expect.stringContaining('text/html')]);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused.text()).toContain('More than 2 requests in 60 s.');
  expect((await fetch(`${system.baseUrl}/p/garden`)).status).toBe(200);
});
