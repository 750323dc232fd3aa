import type { Api } from '../client.js';
import { type Row, rows } from '../matrix.js';
import type { Workspace } from '../records.js';
import type { Place } from '../world.js';

/** Path of a request and its sender; by default the boss of the place. */
interface Target {
  readonly path: string;
  readonly by?: Api;
}

/** Ids in example bodies that are replaced by a workspace of the caller and a document in it. */
export const EXAMPLE_WORKSPACE = '00000000-0000-4000-8000-000000000001';
export const EXAMPLE_DOCUMENT = '00000000-0000-4000-8000-000000000002';

/** Targets for requests for which the matrix prepares an unsuitable one. */
const TARGETS: Readonly<Record<string, (place: Place) => Promise<Target>>> = {
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

/** Returns a target in `place` for the example body of an endpoint such as `POST /api/v1/orgs`. */
export async function targetOf(endpoint: string, place: Place): Promise<Target> {
  const own = TARGETS[endpoint];
  if (own !== undefined) return own(place);
  const row = rows.find((one) => one.endpoint === endpoint) as Row;
  return { path: (await row.request(place, place.boss)).path };
}

/** Replaces the ids in an example body by those of the caller's own workspace and document. */
export function withOwnIds(example: unknown, { workspace, document }: Place): unknown {
  const text = JSON.stringify(example ?? null);
  return JSON.parse(text.replaceAll(EXAMPLE_WORKSPACE, workspace.id).replaceAll(EXAMPLE_DOCUMENT, document.id));
}
