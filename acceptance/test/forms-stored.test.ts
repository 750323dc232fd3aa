import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import type { FormAnswer } from '../src/forms.js';
import { keptFiles } from '../src/kept-files.js';
import type { Resource, Workspace } from '../src/records.js';
import { mode, type OwnSystem, startSystem } from '../src/system.js';

let system: OwnSystem;
let by: Api;
let workspace: Workspace;

beforeAll(async () => {
  system = await startSystem();
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Sales' })).data;
});

afterAll(() => system?.stop());

/** The test reads the system's files, which belong to servers on the mesh. */
const inOneProcess = mode === 'embedded' ? test : test.skip;

inOneProcess('no token and no secret lies in the clear', async () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const headers = { 'Idempotency-Key': randomUUID() };
  const table = await by.post<Resource>('/resources', { type: 'table', name: 'Hidden', workspace_id: workspace.id });
  const path = `/resources/${table.data.id}/form`;
  const fields = [{ id: 'name', type: 'short_text', label: 'Your name', required: true }];
  const webhooks = [{ url: 'https://example.com/in', secret }, { url: 'https://example.org' }];
  const config = { title: 'Contact us', fields, webhooks };
  const { data } = await by.post<FormAnswer>(path, { config }, { headers });
  const { form } = (await by.patch<FormAnswer>(path, { rotate_webhook_token: true }, { headers })).data;
  await by.post(`/forms/${form.token}/submit`, { values: { name: 'Ada' } }, { headers });
  await api(system).post(`/hooks/forms/${form.webhook_token}`, { name: 'Bob' }, { headers });
  await by.post(`/forms/${form.token}/submit`, { values: {} });
  const made = (data.form.webhook_secrets ?? []).map((one) => one.secret);
  const hidden = [form.token, form.webhook_token, data.form.webhook_token, secret, ...made];
  expect(new Set(hidden).size).toBe(5);
  const stored = keptFiles(system).map(({ bytes }) => bytes);
  const output = [Buffer.from(system.stdout()), Buffer.from(system.stderr())];
  expect(stored.some((bytes) => bytes.includes(table.data.id))).toBe(true);
  for (const text of hidden) {
    expect([...stored, ...output].filter((bytes) => bytes.includes(text as string))).toEqual([]);
  }
});
