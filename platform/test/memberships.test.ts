import type { Caller } from '@commonplace/kit/auth';
import { cancelled } from '@commonplace/kit/deadline';
import { NotFound, Unavailable } from '@commonplace/kit/errors';
import type { EventBus } from '@commonplace/kit/events';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { DirectoryService, Memberships, OrgMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { describe, expect, test } from '@jest/globals';
import { createMembershipCache, refusalOfWorkspace } from '../src/memberships/index.js';

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

describe('a workspace that the caller is not a member of', () => {
  const onward: CallOptions = { metadata: { requestId: 'req_test' }, deadline: Date.now() + 60_000 };
  const caller = { userId: 'ada', credential: { kind: 'session' } } as unknown as Caller;
  const orgsOf = (role: OrgRole) => ({ orgs: new Map([['acme', { orgId: 'acme', role } as OrgMembership]]) });
  const directoryOf = (lookUp: () => Promise<{ orgId: string }>) =>
    ({ lookUpWorkspace: lookUp }) as unknown as Client<DirectoryService>;
  const refusal = (role: OrgRole, lookUp: () => Promise<{ orgId: string }>, who = caller) =>
    refusalOfWorkspace(directoryOf(lookUp), 'w', orgsOf(role), { caller: who, onward }, 'workspace_id');

  test('exists for administrators of its Org only', async () => {
    const ofAcme = async () => ({ orgId: 'acme' });
    expect(await refusal(OrgRole.ADMIN, ofAcme)).toMatchObject({ reason: 'insufficient_role' });
    expect(await refusal(OrgRole.MEMBER, ofAcme)).toMatchObject({ code: 'NOT_FOUND', param: 'workspace_id' });
    expect(await refusal(OrgRole.OWNER, async () => ({ orgId: 'other' }))).toMatchObject({ code: 'NOT_FOUND' });
    expect(await refusal(OrgRole.OWNER, async () => Promise.reject(NotFound()))).toMatchObject({ code: 'NOT_FOUND' });
  });

  test('is out of scope for a key of another workspace', async () => {
    const limited = { ...caller, credential: { workspaceIds: ['v'] } } as unknown as Caller;
    const ofAcme = async () => ({ orgId: 'acme' });
    expect(await refusal(OrgRole.OWNER, ofAcme, limited)).toMatchObject({ reason: 'tenant_boundary' });
  });

  test('is not called missing while it cannot be looked up', async () => {
    const away = async () => Promise.reject(Unavailable());
    await expect(refusal(OrgRole.OWNER, away)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
