import { newId } from '@commonplace/kit/id';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { homeOf } from '../src/domain/home.js';
import { type Harness, openHarness } from './support/harness.js';
import { everyScope, signUp } from './support/people.js';

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness({ COMMONPLACE_SIGN_UP: 'open' });
});
afterEach(() => harness.close());

const owner = { email: 'owner@example.com', name: 'Owner', scopes: [] };

describe('the first person', () => {
  test('is made once, with a password and a key that work', async () => {
    const { auth, call, authenticate, directory } = harness;
    const made = await auth.bootstrap(owner, call());
    expect(made).toMatchObject({ created: true, user: { email: 'owner@example.com', name: 'Owner' } });
    expect(made.defaultWorkspaceId).toBe(homeOf(made.user?.id ?? ''));
    expect(directory.homes).toEqual(new Set([made.defaultWorkspaceId]));
    await auth.signIn({ email: owner.email, password: made.password, clientIp: '' }, call());
    const { caller } = await authenticate(made.apiKey);
    expect(caller).toMatchObject({ userId: made.user?.id, tenant: { orgId: null } });
    expect(caller.credential.scopes).toEqual(everyScope);
    const again = await auth.bootstrap(owner, call());
    expect(again).toEqual({ created: false, user: undefined, password: '', apiKey: '', defaultWorkspaceId: '' });
  });

  test('is one, however many try at once', async () => {
    const { auth, call } = harness;
    const tries = [1, 2, 3, 4].map(() => auth.bootstrap({ ...owner, scopes: ['resource:read'] }, call()));
    const made = (await Promise.all(tries)).filter(({ created }) => created);
    expect(made).toHaveLength(1);
    expect((await harness.authenticate(made[0]?.apiKey ?? '')).caller.credential.scopes).toEqual(['resource:read']);
  });

  test('is nobody else where there is somebody', async () => {
    await signUp(harness, 'Ada');
    expect(await harness.auth.bootstrap(owner, harness.call())).toMatchObject({ created: false });
  });

  test('can be tried again when tenancy was away', async () => {
    harness.directory.down = true;
    await expect(harness.auth.bootstrap(owner, harness.call())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    harness.directory.down = false;
    expect(await harness.auth.bootstrap(owner, harness.call())).toMatchObject({ created: true });
  });

  test('needs known scopes', async () => {
    await expect(harness.auth.bootstrap({ ...owner, scopes: ['root'] }, harness.call())).rejects.toMatchObject({
      reason: 'invalid_scope',
    });
  });
});

describe('finding people', () => {
  test('by id and by address in any case; each once, the unknown not at all', async () => {
    const { auth, call } = harness;
    const [ada, bob] = [await signUp(harness, 'Ada'), await signUp(harness, 'Bob')];
    const request = { ids: [ada.id, newId()], emails: ['ADA@example.com', 'bob@example.com', 'nobody@example.com'] };
    const { users } = await auth.findUsers(request, call());
    expect(users.map(({ id }) => id).sort()).toEqual([ada.id, bob.id].sort());
    expect(JSON.stringify(users)).not.toContain('argon2');
    expect(await auth.findUsers({ ids: [], emails: [] }, call())).toEqual({ users: [] });
  });
});

describe('acting for a person later', () => {
  test('gives a caller of one tenant with the scopes named', async () => {
    const { auth, call, directory } = harness;
    const ada = await signUp(harness, 'Ada');
    const acme = directory.addOrg('Acme');
    directory.join(ada.id, acme, OrgRole.MEMBER);
    await harness.restart({});
    const act = async (orgId: string) => {
      const { token } = await auth.actAs({ userId: ada.id, orgId, scopes: ['resource:read'] }, call());
      const me = await harness.account.getMe({}, call(token));
      return [me.tenant?.orgId, me.credential?.scopes];
    };
    expect(await act(acme)).toEqual([acme, ['resource:read']]);
    expect(await act('')).toEqual([undefined, ['resource:read']]);
    await expect(act(newId())).rejects.toMatchObject({ reason: 'tenant_boundary' });
    const unknown = auth.actAs({ userId: newId(), orgId: '', scopes: [] }, call());
    await expect(unknown).rejects.toMatchObject({ reason: 'not_found' });
    const wrong = auth.actAs({ userId: ada.id, orgId: '', scopes: ['root'] }, call());
    await expect(wrong).rejects.toMatchObject({ reason: 'invalid_scope' });
  });
});

describe('the keys of caller tokens', () => {
  test('are public keys alone', async () => {
    const { jwksJson } = await harness.auth.getTokenKeys({}, harness.call());
    const { keys } = JSON.parse(jwksJson);
    expect(keys).toEqual([expect.objectContaining({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' })]);
    expect(keys[0]).not.toHaveProperty('d');
  });
});
