import { type Api, api, type Reply } from '../client.js';
import { type Row, rows } from '../matrix.js';
import { signUp } from '../people.js';
import type { Org } from '../records.js';
import type { System } from '../system.js';
import type { Place, World } from '../world.js';
import { ACCOUNTS } from './accounts.js';
import type { DescribedOperation } from './description.js';
import { type Equipped, NEEDS_EQUIPMENT } from './equipped.js';
import { createStable, shortened } from './stable.js';
import { EXAMPLE_DOCUMENT, EXAMPLE_WORKSPACE, targetOf, withOwnIds } from './targets.js';

/** A sent request and its answer. Bodies are JSON, or text if the operation transfers bytes. */
export interface Exchange {
  readonly request: { readonly path: string; readonly body?: unknown };
  readonly response: { readonly status: number; readonly body?: unknown };
}

/** A request that is ready to be sent. */
export interface Prepared {
  readonly path: string;
  readonly body?: unknown;
  /** The sender; undefined for a request without a session. */
  readonly by?: Api;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one request for an operation. Returns the exchange with stable values. */
export async function record(world: World, equipped: Equipped, operation: DescribedOperation): Promise<Exchange> {
  const own = NEEDS_EQUIPMENT[operation.operationId];
  if (own !== undefined) {
    const ids = { [equipped.workspace.id]: EXAMPLE_WORKSPACE };
    return exchange(equipped.system, operation, await own(equipped), ids);
  }
  const place = placeOf(world, operation);
  const ids = { [place.workspace.id]: EXAMPLE_WORKSPACE, [place.document.id]: EXAMPLE_DOCUMENT };
  return exchange(world.system, operation, await prepare(world, place, operation), ids);
}

async function exchange(
  system: Pick<System, 'baseUrl'>,
  { method }: DescribedOperation,
  { path, body, by = api(system), headers = {} }: Prepared,
  ids: Readonly<Record<string, string>>,
): Promise<Exchange> {
  const reply = await by.send(method, path, body, { headers });
  const stable = createStable({ baseUrl: system.baseUrl, ids });
  const full = /^\/(auth|blobs|health)\//.test(path) ? path : `/api/v1${path}`;
  return stable({
    request: { path: full, ...(body === undefined ? {} : { body }) },
    response: { status: reply.status, ...bodyOf(reply) },
  });
}

function bodyOf({ text }: Reply<unknown>): { body?: unknown } {
  if (text === '') return {};
  return { body: text.startsWith('{') ? shortened(JSON.parse(text)) : text };
}

/**
 * Returns the place in which an operation is recorded: access requests in the open workspace, operations of Orgs in the
 * Org, and everything else in a Personal workspace.
 */
function placeOf(world: World, { path }: DescribedOperation): Place {
  if (path.includes('access-request')) return world.open;
  return path.startsWith('/api/v1/orgs') ? world.closed : world.personal;
}

/** Requests of operations that need a record which neither the example body nor the matrix can provide. */
const OWN: Readonly<Record<string, (place: Place) => Promise<Prepared>>> = {
  'DELETE /api/v1/orgs/{org_id}': async ({ boss }) => {
    const { id, slug } = (await boss.post<Org & { slug: string }>('/orgs', { name: 'Short-lived' })).data;
    return { by: boss, path: `/orgs/${id}?confirm=${slug}` };
  },
  'POST /api/v1/im/conversations/{conversation_id}/members': async ({ boss, workspace, extra, extraMember }) => {
    await extraMember();
    const { data } = await boss.post<{ id: string }>('/im/conversations', {
      type: 'group',
      workspace_id: workspace.id,
    });
    return { by: boss, path: `/im/conversations/${data.id}/members`, body: { user_ids: [extra.user.id] } };
  },
  'POST /api/v1/agent-schedules': async ({ boss, workspace, agent }) => ({
    by: boss,
    path: '/agent-schedules',
    body: {
      name: 'Weekly report',
      agent_id: (await agent()).id,
      workspace_id: workspace.id,
      cron: '0 9 * * 1',
      timezone: 'Europe/Berlin',
      input: 'Sum up what changed last week.',
    },
  }),
};

async function prepare(world: World, place: Place, operation: DescribedOperation): Promise<Prepared> {
  const { method, path, example, operationId } = operation;
  const { boss } = place;
  if (!path.startsWith('/api/v1/')) {
    const prepared = await ACCOUNTS[operationId]?.(world);
    const body = example === undefined || method === 'GET' ? {} : { body: example };
    return prepared ?? { by: await signUp(world.system, 'Ada'), path: filled(path), ...body };
  }
  const endpoint = `${method} ${path}`;
  const own = OWN[endpoint];
  if (own !== undefined) return own(place);
  if (example !== undefined)
    return { by: boss, ...(await targetOf(endpoint, place)), body: withOwnIds(example, place) };
  const row = rows.find((one) => one.endpoint === endpoint) as Row;
  return { by: boss, ...(await row.request(place, boss)) };
}

/** Fills the parameters of a path with an unknown id. */
function filled(path: string): string {
  return path.replaceAll(/\{\w+\}/g, '0198c0de-0000-7000-8000-000000000009');
}
