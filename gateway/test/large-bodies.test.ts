import { readConfig } from '@commonplace/kit/config';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { config } from '../src/config.js';
import { type LargeBodies, openLargeBodies } from '../src/large-bodies/index.js';
import type { ReadTask } from '../src/large-bodies/protocol.js';
import { readRequest } from '../src/large-bodies/read.js';
import { createRoutes } from '../src/routes.js';

const routes = createRoutes();
const WORKSPACE = '0198c0de-0000-7000-8000-000000000001';

function taskOf(body: unknown, changes: Partial<ReadTask> = {}): ReadTask {
  return {
    method: 'POST',
    path: '/api/v1/resources',
    params: {},
    query: {},
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    contentType: 'application/json',
    facts: {},
    hashedWith: undefined,
    ...changes,
  };
}

const routeOf = ({ method, path }: ReadTask) =>
  routes.find((route) => route.method === method && route.path === path) as (typeof routes)[number];

describe('large bodies', () => {
  let bodies: LargeBodies;
  beforeAll(() => {
    bodies = openLargeBodies(readConfig(config, {}));
  });
  afterAll(() => bodies.close());

  const document = {
    type: 'document',
    name: 'Page',
    workspace_id: WORKSPACE,
    content: 'ä'.repeat(100_000),
    metadata: { words: Array.from({ length: 20_000 }, (_, i) => `w${i}`) },
  };

  test('are parsed in a thread to the same message as directly', async () => {
    const changes = { hashedWith: 'a=b' };
    const atOnce = readRequest(routeOf(taskOf(document)), taskOf(document, changes));
    const read = await bodies.read('a', taskOf(document, changes));
    expect(read).toEqual(atOnce);
    expect(Buffer.isBuffer((read.request.message as { content: unknown }).content)).toBe(true);
  });

  test('are transferred and not copied', async () => {
    const task = taskOf({ ...document, content: 'a'.repeat(200_000) });
    await bodies.read('a', task);
    expect(task.body.byteLength).toBe(0);
  });

  test.each([
    ['what is no JSON', `{"a":"${'x'.repeat(100_000)}"`],
    ['a key twice', `{"name":"a","name":"${'x'.repeat(100_000)}"}`],
    ['what the contract does not have', JSON.stringify({ ...document, nmae: 1, type: 'x' })],
  ])('are refused as small ones are: %s', async (_, body) => {
    const atOnce = () => readRequest(routeOf(taskOf(body)), taskOf(body));
    let refusal: object = {};
    try {
      atOnce();
    } catch (error) {
      refusal = { ...(error as object), message: (error as Error).message };
    }
    await expect(bodies.read('a', taskOf(body))).rejects.toMatchObject(refusal);
  });

  test('include the values that the gateway fills in', async () => {
    const route = routes.find(({ facts }) => facts.includes('client_ip')) as (typeof routes)[number];
    expect(route.facts).toContain('client_ip');
  });
});

test('more waiting bodies of one tenant than allowed are refused, and another tenant continues', async () => {
  const bodies = openLargeBodies({ ...readConfig(config, {}), bodyThreads: 2, bodiesWaiting: 1 });
  try {
    const body = { type: 'folder', name: 'Folder', workspace_id: WORKSPACE };
    const [first, second] = [bodies.read('a', taskOf(body)), bodies.read('a', taskOf(body))];
    await expect(bodies.read('a', taskOf(body))).rejects.toMatchObject({ reason: 'concurrency_limited' });
    await expect(bodies.read('b', taskOf(body))).resolves.toMatchObject({ request: { message: { name: 'Folder' } } });
    await Promise.all([first, second]);
  } finally {
    await bodies.close();
  }
});

test('a body that takes more memory than a thread has is too complex', async () => {
  const bodies = openLargeBodies({ ...readConfig(config, {}), bodyBytes: 1024 });
  try {
    const body = `{"type":"document","name":"a","metadata":{"a":[${'{"a":{}},'.repeat(10_000_000)}1]}}`;
    await expect(bodies.read('a', taskOf(body))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'body_too_complex',
    });
  } finally {
    await bodies.close();
  }
});
