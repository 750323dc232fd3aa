import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostileTargets } from '@commonplace/kit/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { eventually } from '../src/eventually.js';
import { signIn } from '../src/people.js';
import type { List, Resource, Workspace } from '../src/records.js';
import { LISTED_HOST as HOST, type StandingSystem, standingSystem } from '../src/standing.js';

/** Tests the webhooks of a form from the receiver's side. */

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface FormAnswer {
  readonly form: {
    readonly id: string;
    readonly token: string;
    readonly webhook_token: string;
    readonly config: { readonly webhooks: readonly Readonly<Record<string, unknown>>[] };
    readonly webhook_secrets?: readonly { readonly url: string; readonly secret: string }[];
    readonly deliveries?: readonly Delivery[];
  };
}

interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly event_id: string;
  readonly response_status: number | null;
  readonly response_head: string | null;
}

let system: StandingSystem;
let by: Awaited<ReturnType<typeof signIn>>;
let workspace: Workspace;
let receiver: Server;
let url: string;
let port: number;
/** A server that must not be called. */
let canary: Server;
let hits = 0;
let received: Received[] = [];
let answer: (response: ServerResponse) => void = (response) => response.end();

beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ headers: request.headers, body });
    answer(response);
  });
  await new Promise<void>((resolve) => receiver.listen(0, HOST, resolve));
  port = (receiver.address() as AddressInfo).port;
  url = `http://${HOST}:${port}/hook`;
  canary = createServer((_, response) => response.end('secret')).on('connection', () => hits++);
  await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
  system = await standingSystem('meaning');
  by = await signIn(system, system.owner);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Webhooks' })).data;
});
afterAll(async () => {
  await system?.stop();
  receiver.close();
  canary.close();
});
beforeEach(() => {
  received = [];
  answer = (response) => response.end('thanks');
});

async function newTable(): Promise<string> {
  const made = await by.post<Resource>('/resources', { type: 'table', name: 'Answers', workspace_id: workspace.id });
  return made.data.id;
}

/** Creates a form with one webhook and a generated secret. */
async function newForm() {
  const id = await newTable();
  const config = {
    title: 'Feedback',
    fields: [{ id: 'said', type: 'short_text', label: 'Said' }],
    webhooks: [{ url }],
  };
  const { status, data } = await by.post<FormAnswer>(`/resources/${id}/form`, { config });
  expect(status).toBe(201);
  const secret = data.form.webhook_secrets?.[0]?.secret as string;
  return { id, config, secret, token: data.form.token, form: data.form };
}

const submit = (token: string, said: string) => by.post(`/forms/${token}/submit`, { values: { said } });
const formOf = async (id: string, query = '') => (await by.get<FormAnswer>(`/resources/${id}/form${query}`)).data.form;
const deliveriesOf = async (id: string) => (await formOf(id, '?include=deliveries')).deliveries ?? [];
const arrived = (count: number) => eventually(async () => expect(received).toHaveLength(count));

test('a submission arrives, signed with the secret that was shown once', async () => {
  const { id, secret, token, form } = await newForm();
  const submitted = await submit(token, 'Grüße');
  expect(submitted.status).toBe(201);
  await arrived(1);
  const [{ headers, body }] = received as [Received];
  const event = new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>;
  const { submission_id, row_id, submitted_at } = submitted.data;
  expect(event).toMatchObject({
    type: 'form.submitted',
    workspace_id: workspace.id,
    data: { form_id: form.id, resource_id: id, submission_id, row_id, submitted_at, values: { said: 'Grüße' } },
  });
  expect(headers['webhook-id']).toBe(event.id);
  expect(headers['content-type']).toBe('application/json');
  for (const hidden of [secret, token, form.webhook_token]) expect(body).not.toContain(hidden);
  await eventually(async () => {
    expect(await deliveriesOf(id)).toMatchObject([
      { status: 'delivered', event_id: event.id, response_status: 200, response_head: 'thanks' },
    ]);
  });
  const shown = await formOf(id);
  expect(shown.deliveries).toBeUndefined();
  expect(JSON.stringify(shown)).not.toContain(secret);
});

test('a completed delivery is sent again on request, under the same id', async () => {
  const { id, token } = await newForm();
  await submit(token, 'once');
  await arrived(1);
  const [delivery] = await eventually(async () => {
    const all = await deliveriesOf(id);
    expect(all).toMatchObject([{ status: 'delivered' }]);
    return all;
  });
  const again = await by.patch(`/resources/${id}/form`, { resend_delivery_ids: [delivery?.id, 'unknown'] });
  expect(again.status).toBe(200);
  await arrived(2);
  expect(received[1]?.headers['webhook-id']).toBe(received[0]?.headers['webhook-id']);
  expect(received[1]?.body).toBe(received[0]?.body);
});

test('both secrets sign for a day after a change', async () => {
  const { id, token, config, secret } = await newForm();
  const fresh = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  const changed = await by.patch<FormAnswer>(`/resources/${id}/form`, {
    config: { ...config, webhooks: [{ url, secret: fresh }] },
  });
  expect([changed.status, changed.data.form.webhook_secrets]).toEqual([200, undefined]);
  await submit(token, 'twice');
  await arrived(1);
  const [{ headers, body }] = received as [Received];
  for (const one of [fresh, secret]) {
    expect(new Webhook(one).verify(body, headers as Record<string, string>)).toMatchObject({ type: 'form.submitted' });
  }
});

test('a receiver that is gone is disabled, the owner of its form is notified, and a new configuration enables it', async () => {
  const { id, token, config } = await newForm();
  answer = (response) => response.writeHead(410).end();
  await submit(token, 'anyone?');
  await eventually(async () => {
    const [webhook] = (await formOf(id)).config.webhooks;
    expect(webhook).toMatchObject({ is_active: false, disabled_reason: 'gone' });
  });
  await eventually(async () => {
    const { data } = await by.get<List<{ title: string }>>('/notifications?type=webhook_disabled');
    expect(data.items.map(({ title }) => title)).toEqual([expect.stringContaining(`${HOST}:${port}`)]);
  });
  await submit(token, 'still there?');
  await eventually(async () =>
    expect((await deliveriesOf(id)).map(({ status }) => status)).toEqual(['canceled', 'failed']),
  );
  expect(received).toHaveLength(1);
  answer = (response) => response.end();
  expect((await by.patch(`/resources/${id}/form`, { config })).status).toBe(200);
  await submit(token, 'back');
  await arrived(2);
  expect((await formOf(id)).config.webhooks).toMatchObject([{ is_active: true, disabled_reason: null }]);
});

test('a failed delivery is retried after five seconds', async () => {
  const { token } = await newForm();
  answer = (response) => response.writeHead(500).end();
  await submit(token, 'hello');
  await arrived(1);
  answer = (response) => response.end();
  await eventually(async () => expect(received).toHaveLength(2));
  const [first, second] = received as [Received, Received];
  expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
  expect(Number(second.headers['webhook-timestamp'])).toBeGreaterThan(Number(first.headers['webhook-timestamp']));
});

describe('a target in the internal network', () => {
  test.each(hostileTargets(1).map((target, i) => [target, i]))('%s is never called', async (_, i) => {
    const target = hostileTargets((canary.address() as AddressInfo).port)[i as number] as string;
    const id = await newTable();
    const form = await by.post(`/resources/${id}/form`, { config: { title: 'Feedback', webhooks: [{ url: target }] } });
    const file = await by.post('/files', { name: 'a.txt', workspace_id: workspace.id, source_url: target });
    const imported = await by.post(`/workspaces/${workspace.id}/imports`, { source_type: 'url', url: target });
    expect([form.status, file.status, imported.status]).toEqual([400, 400, 400]);
    expect(hits).toBe(0);
  });
});
