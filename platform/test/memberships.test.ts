import { cancelled } from '@commonplace/kit/deadline';
import type { EventBus } from '@commonplace/kit/events';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { DirectoryService, Memberships } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { expect, test } from '@jest/globals';
import { createMembershipCache } from '../src/memberships/index.js';

test('a request that is broken off ends no other request of the same person', async () => {
  const answers: ((found: Memberships) => void)[] = [];
  const directory = {
    getMemberships: (_: unknown, { signal }: CallOptions) =>
      new Promise((resolve, reject) => {
        answers.push(resolve);
        signal?.addEventListener('abort', () => reject(cancelled()));
      }),
  } as unknown as Client<DirectoryService>;
  const bus = { watch: async () => {} } as unknown as EventBus;
  const cache = await createMembershipCache(directory, bus);
  const call = (signal: AbortSignal): CallOptions => ({
    ...{ metadata: { requestId: 'req_test' }, deadline: Date.now() + 60_000, signal },
  });
  const left = new AbortController();
  const first = cache.of('ada', call(left.signal));
  const second = cache.of('ada', call(new AbortController().signal));
  left.abort();
  await expect(first).rejects.toMatchObject({ code: 'CANCELLED' });
  await new Promise((resolve) => setImmediate(resolve));
  answers.at(-1)?.({ userId: 'ada', orgs: [], workspaces: [], groups: [] });
  expect(await second).toMatchObject({ userId: 'ada', principals: ['user:ada'] });
});
