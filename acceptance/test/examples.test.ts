import { beforeAll, expect, test } from '@jest/globals';
import { targetOf, withOwnIds } from '../src/api-examples/targets.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';
import { createWorld, type World } from '../src/world.js';

/** Tests that the example bodies of the OpenAPI document work unchanged, on a suitable target. */

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: object }>> };
}

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

/** Accepted errors of examples whose target has nothing left to do, or whose body names a person or an approval. */
const REASONS: Readonly<Record<string, string>> = {
  'POST /api/v1/imports/{import_id}/retry': 'import_active',
  'POST /api/v1/agent-runs/{run_id}/cancel': 'run_not_cancelable',
  'POST /api/v1/automations/{automation_id}/runs/{run_id}/cancel': 'run_not_cancelable',
  'POST /api/v1/automations/{automation_id}/runs/{run_id}/retry': 'run_not_retryable',
  'PATCH /api/v1/agent-approvals/{approval_id}': 'not_found',
  'POST /api/v1/agent-schedules': 'not_found',
  'POST /api/v1/im/conversations/{conversation_id}/members': 'not_found',
};

test('every operation with a body has an example, and the example works', async () => {
  expect(examples.size).toBeGreaterThan(35);
  const wrong: string[] = [];
  for (const [endpoint, example] of examples) {
    const place = world.personal;
    const [method = ''] = endpoint.split(' ');
    const { path, by = place.boss } = await targetOf(
      endpoint,
      endpoint.includes('access-request') ? world.open : place,
    );
    const reply = await by.send(method, path, withOwnIds(example, place));
    const { status } = reply;
    const code = status < 300 ? undefined : reply.error.code;
    if (example !== undefined && code === REASONS[endpoint]) continue;
    wrong.push(
      `${endpoint}: ${status} ${code === undefined ? '' : JSON.stringify(reply.error)} ${JSON.stringify(example)}`,
    );
  }
  expect(wrong).toEqual([]);
}, 120_000);
