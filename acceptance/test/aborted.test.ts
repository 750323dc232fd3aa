import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { abortAt, type RawRequest, STAGES } from '../src/abort.js';
import type { Run } from '../src/chat.js';
import { type Api, api } from '../src/client.js';
import { linkOf, newFile, type Upload } from '../src/files.js';
import { newForm } from '../src/forms.js';
import { inline } from '../src/imports.js';
import type { Import, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

/** Tests that no client can end a process by closing its connection, at any stage of any request. */

const FILE_BYTES = 3 * 1024 * 1024;

let system: OwnSystem;
let by: Api;
let workspaceId: string;
let downloadUrl: string;
let formToken: string;
let hookUrl: string;

beforeAll(async () => {
  system = await startSystem({ COMMONPLACE_MAX_UPLOADS: '10000', COMMONPLACE_IMPORTS_WAITING: '1000' });
  by = api(system, system.owner.apiKey);
  workspaceId = (await by.post<Workspace>('/workspaces', { name: 'Aborted' })).data.id;
  const { data } = await newFile(by, { name: 'all.bin', workspace_id: workspaceId }, randomBytes(FILE_BYTES));
  downloadUrl = (await linkOf(by, data.resource.id)).download_url;
  formToken = (await newForm(by, workspaceId)).form.token as string;
  const { data: automation } = await by.post<{ webhook_url: string }>('/automations', {
    ...{ name: 'Hooked', workspace_id: workspaceId, trigger: { type: 'webhook' } },
    actions: [{ type: 'stop' }],
  });
  hookUrl = automation.webhook_url;
});
afterAll(() => system?.stop());

const authorized = () => ({ Authorization: `Bearer ${system.owner.apiKey}` });
const json = (path: string, body: object): RawRequest => ({
  method: 'POST',
  url: `${system.baseUrl}/api/v1${path}`,
  headers: { ...authorized(), 'Content-Type': 'application/json' },
  body: Buffer.from(JSON.stringify(body)),
});
const read = (path: string, headers = {}): RawRequest => ({
  method: 'GET',
  url: `${system.baseUrl}/api/v1${path}`,
  headers: { ...authorized(), ...headers },
});

const STREAMED = { Accept: 'text/event-stream' };
const mcp = (message: object): RawRequest => ({
  method: 'POST',
  url: `${system.baseUrl}/mcp`,
  headers: {
    ...authorized(),
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': '2025-11-25',
  },
  body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })),
});

async function upload(announced: object, of: (upload: Upload) => string | null | undefined): Promise<RawRequest> {
  const { data } = await newFile(by, { name: 'a.bin', workspace_id: workspaceId, ...announced });
  const begun = data.upload as Upload;
  const url = of(begun) ?? '';
  const body = randomBytes(begun.parts?.[0]?.size_bytes ?? FILE_BYTES);
  return { method: 'PUT', url, headers: begun.headers, body };
}

const KINDS: Record<string, () => Promise<RawRequest>> = {
  'a write': async () => json('/resources', { type: 'document', name: 'Aborted', workspace_id: workspaceId }),
  'an import': async () =>
    json(`/workspaces/${workspaceId}/imports`, {
      source_type: 'markdown',
      ...inline(Buffer.from('# A page\n'.repeat(1000))),
    }),
  'a search': async () => json('/search', { query: 'aborted' }),
  'a list': async () => read(`/workspaces/${workspaceId}/resources?recursive=true`),
  'a followed import': async () => {
    const body = { source_type: 'markdown', ...inline(Buffer.from('# Followed')) };
    const { data } = await by.post<Import>(`/workspaces/${workspaceId}/imports`, body);
    return read(`/imports/${data.id}`, { Accept: 'text/event-stream' });
  },
  'an upload of a known size': () => upload({ size_bytes: FILE_BYTES }, ({ url }) => url),
  'an upload of an unknown size': () => upload({}, ({ url }) => url),
  'a part of an upload': () => upload({ size_bytes: 200 * 1024 * 1024 }, ({ parts, url }) => parts?.[0]?.url ?? url),
  'a download': async () => ({ method: 'GET', url: downloadUrl }),
  'a stream of events': async () => read('/events', STREAMED),
  'a followed run': async () => {
    const { data } = await by.post<Run>('/agent-runs', { input: 'Follow this.', workspace_id: workspaceId });
    return read(`/agent-runs/${data.id}/events`, STREAMED);
  },
  'a question in a new chat session': async () =>
    json('/chat-sessions', { messages: [{ role: 'user', content: 'Who?' }], respond: true, workspace_id: workspaceId }),
  'a followed chat session': async () => {
    const body = { messages: [{ role: 'user', content: 'Who?' }], respond: true, workspace_id: workspaceId };
    const { data } = await by.post<{ id: string }>('/chat-sessions', body);
    return read(`/chat-sessions/${data.id}`, STREAMED);
  },
  'a call of a tool of the MCP server': async () =>
    mcp({ method: 'tools/call', params: { name: 'search', arguments: { query: 'aborted' } } }),
  'a submission of a form': async () => {
    const { headers, ...request } = json(`/forms/${formToken}/submit`, { values: { name: 'x'.repeat(10_000) } });
    return { ...request, headers: { 'Content-Type': headers?.['Content-Type'] ?? '' } };
  },
  'a call of a hook': async () => ({
    method: 'POST',
    url: hookUrl,
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from(JSON.stringify({ text: 'x'.repeat(10_000) })),
  }),
  'a page of the documentation': async () => ({ method: 'GET', url: `${system.baseUrl}/docs` }),
  'a sign-in': async () => ({
    method: 'POST',
    url: `${system.baseUrl}/auth/sign-in`,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: Buffer.from('email=a%40b.test&password=nothing'),
  }),
};

test.each(Object.keys(KINDS))(
  'an aborted %s ends no process',
  async (kind) => {
    for (const stage of STAGES) {
      await abortAt(stage, KINDS[kind] as () => Promise<RawRequest>);
      expect((await by.get('/me')).status).toBe(200);
    }
    expect(await system.said()).not.toContain("Unhandled 'error' event");
  },
  180_000,
);

test('an aborted request can be repeated', async () => {
  const { method, url, headers, body = Buffer.alloc(0) } = await upload({ size_bytes: FILE_BYTES }, (one) => one.url);
  const aborted = async (): Promise<RawRequest> => ({ method, url, body, ...(headers && { headers }) });
  await abortAt('the head', aborted);
  await abortAt('half of the body', aborted);
  const put = await fetch(url, { method, headers: { ...headers }, body: new Uint8Array(body) });
  expect(put.status).toBe(200);
});
