import { beforeAll, expect, test } from '@jest/globals';
import type { Api } from '../src/client.js';
import { type Row, rows } from '../src/matrix.js';
import type { Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';
import { createWorld, type Place, type World } from '../src/world.js';

/** The bodies that the OpenAPI document shows work as they are, on a target that takes them. */

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: object }>> };
}

/** What stands for a workspace of the caller, and for a document in it. */
const WORKSPACE = '00000000-0000-4000-8000-000000000001';
const DOCUMENT = '00000000-0000-4000-8000-000000000002';

let system: System;
let world: World;
let examples: ReadonlyMap<string, object | undefined>;

beforeAll(async () => {
  system = await standingSystem();
  world = await createWorld(system);
  const answer = await fetch(`${system.baseUrl}/api/v1/openapi.json`);
  const { paths } = (await answer.json()) as { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
  examples = new Map(
    Object.entries(paths)
      .filter(([path]) => path.startsWith('/api/v1/'))
      .flatMap(([path, item]) =>
        Object.entries(item).flatMap(([method, { requestBody }]) =>
          requestBody === undefined
            ? []
            : [[`${method.toUpperCase()} ${path}`, requestBody.content['application/json']?.example] as const],
        ),
      ),
  );
}, 120_000);

/** Requests whose target the matrix prepares for something else. */
const TARGETS: Readonly<Record<string, (place: Place) => Promise<{ path: string; by?: Api }>>> = {
  'PATCH /api/v1/access-requests/{request_id}': async (place) => ({
    path: `/access-requests/${await place.newAccessRequest()}`,
  }),
  'POST /api/v1/resources/{resource_id}/access-requests': async (place) => ({
    path: `/resources/${(await place.newDocument()).id}/access-requests`,
    by: place.extra,
  }),
  'PATCH /api/v1/resources/{resource_id}/content': async (place) => ({
    path: `/resources/${(await place.newDocument()).id}/content`,
  }),
  'POST /api/v1/resources/{resource_id}/comments': async (place) => ({
    path: `/resources/${place.document.id}/comments`,
  }),
  'POST /api/v1/workspaces/{workspace_id}/publish': async ({ boss }) => ({
    path: `/workspaces/${(await boss.post<Workspace>('/workspaces', { name: 'Published' })).data.id}/publish`,
  }),
  'POST /api/v1/hooks/forms/{webhook_token}': async (place) => ({
    path: `/hooks/forms/${(await place.newForm()).webhookToken}`,
  }),
  'POST /api/v1/hooks/automations/{token}': async (place) => ({
    path: `/hooks/automations/${(await place.newAutomation({ type: 'webhook' })).webhook_url?.split('/').at(-1)}`,
  }),
  'PATCH /api/v1/agents/{agent_id}/pins': async ({ boss, document }) => {
    const { data } = await boss.post<{ id: string }>('/agents', { name: 'Helper' });
    await boss.post(`/agents/${data.id}/pins`, { resource_id: document.id });
    return { path: `/agents/${data.id}/pins` };
  },
  'PATCH /api/v1/workspaces/{workspace_id}/pins': async (place) => {
    await place.pin();
    return { path: `/workspaces/${place.workspace.id}/pins` };
  },
};

/** What an example may be answered where its target has nothing left to do, or its body names a person or an approval. */
const REASONS: Readonly<Record<string, string>> = {
  'POST /api/v1/imports/{import_id}/retry': 'import_active',
  'POST /api/v1/agent-runs/{run_id}/cancel': 'run_not_cancelable',
  'POST /api/v1/automations/{automation_id}/runs/{run_id}/cancel': 'run_not_cancelable',
  'POST /api/v1/automations/{automation_id}/runs/{run_id}/retry': 'run_not_retryable',
  'PATCH /api/v1/agent-approvals/{approval_id}': 'not_found',
  'POST /api/v1/agent-schedules': 'not_found',
  'POST /api/v1/im/conversations/{conversation_id}/members': 'not_found',
};

async function targetOf(endpoint: string, place: Place): Promise<{ path: string; by?: Api }> {
  const own = TARGETS[endpoint];
  if (own !== undefined) return own(place);
  const row = rows.find((one) => one.endpoint === endpoint) as Row;
  return { path: (await row.request(place, place.boss)).path };
}

test('every operation with a body has an example, and it works', async () => {
  expect(examples.size).toBeGreaterThan(35);
  const wrong: string[] = [];
  for (const [endpoint, example] of examples) {
    const place = world.personal;
    const [method = ''] = endpoint.split(' ');
    const { path, by = place.boss } = await targetOf(
      endpoint,
      endpoint.includes('access-request') ? world.open : place,
    );
    const text = JSON.stringify(example ?? null);
    const body = JSON.parse(text.replaceAll(WORKSPACE, place.workspace.id).replaceAll(DOCUMENT, place.document.id));
    const reply = await by.send(method, path, body);
    const { status } = reply;
    const code = status < 300 ? undefined : reply.error.code;
    if (example !== undefined && code === REASONS[endpoint]) continue;
    wrong.push(`${endpoint}: ${status} ${code === undefined ? '' : JSON.stringify(reply.error)} ${text}`);
  }
  expect(wrong).toEqual([]);
}, 120_000);
