import { actorOf, createTokenVerifier, reachesWorkspace } from '@commonplace/kit/auth';
import { homeOf, newId } from '@commonplace/kit/id';
import { ListApiKeysRequest } from '@commonplace/proto/identity/v1/api_key_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseSecrets } from '../src/domain/secrets.js';
import { openSecurityAdmin } from '../src/security-admin.js';
import { type Harness, openHarness, SECRET } from './support/harness.js';
import { everyScope, signUp } from './support/people.js';

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness({ COMMONPLACE_SIGN_UP: 'open' });
});
afterEach(() => harness.close());

const DAY = 86_400_000;
const owner = { email: 'owner@example.com', name: 'Owner', scopes: [], password: '', withoutKey: false };

describe('the first person', () => {
  test('is created once, with a password and a key that work', async () => {
    const { auth, call, authenticate, directory } = harness;
    const made = await auth.bootstrap(owner, call());
    expect(made).toMatchObject({ created: true, user: { email: 'owner@example.com', name: 'Owner' } });
    expect(made.defaultWorkspaceId).toBe(homeOf(made.user?.id ?? ''));
    expect(directory.homes).toEqual(new Set([made.defaultWorkspaceId]));
    await auth.signIn({ email: owner.email, password: made.password, clientIp: '', userAgent: '', code: '' }, call());
    const { caller } = await authenticate(made.apiKey);
    expect(caller).toMatchObject({ userId: made.user?.id, tenant: { orgId: null } });
    expect(caller.credential.scopes).toEqual(everyScope);
    const again = await auth.bootstrap(owner, call());
    expect(again).toEqual({ created: false, user: undefined, password: '', apiKey: '', defaultWorkspaceId: '' });
  });

  test('is created once, even by concurrent requests', async () => {
    const { auth, call } = harness;
    const tries = [1, 2, 3, 4].map(() => auth.bootstrap({ ...owner, scopes: ['resource:read'] }, call()));
    const made = (await Promise.all(tries)).filter(({ created }) => created);
    expect(made).toHaveLength(1);
    expect((await harness.authenticate(made[0]?.apiKey ?? '')).caller.credential.scopes).toEqual(['resource:read']);
  });

  test('is not created if there are people already', async () => {
    await signUp(harness, 'Ada');
    expect(await harness.auth.bootstrap(owner, harness.call())).toMatchObject({ created: false });
  });

  test('can be created by a later attempt after tenancy was unavailable', async () => {
    harness.directory.down = true;
    await expect(harness.auth.bootstrap(owner, harness.call())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    harness.directory.down = false;
    expect(await harness.auth.bootstrap(owner, harness.call())).toMatchObject({ created: true });
  });

  test('gets the password that the operator has chosen, and the response contains neither it nor a key', async () => {
    const chosen = { ...owner, password: 'chosen by the operator', withoutKey: true };
    await expect(harness.auth.bootstrap({ ...chosen, password: 'short' }, harness.call())).rejects.toMatchObject({
      reason: 'invalid_value',
      param: 'password',
    });
    expect(await harness.auth.bootstrap(chosen, harness.call())).toMatchObject({
      created: true,
      password: '',
      apiKey: '',
    });
    const { session } = await harness.auth.signIn({ ...chosen, clientIp: '', userAgent: '', code: '' }, harness.call());
    const { token } = await harness.authenticate(session);
    const keys = await harness.apiKeys.listApiKeys(ListApiKeysRequest.fromPartial({}), harness.call(token));
    expect(keys.items).toEqual([]);
  });

  test('gets a key with the default lifetime', async () => {
    const { apiKey } = await harness.auth.bootstrap(owner, harness.call());
    harness.pass(89 * DAY);
    await harness.authenticate(apiKey);
    harness.pass(2 * DAY);
    await expect(harness.authenticate(apiKey)).rejects.toMatchObject({ reason: 'expired_credentials' });
  });

  test('requires known scopes', async () => {
    await expect(harness.auth.bootstrap({ ...owner, scopes: ['root'] }, harness.call())).rejects.toMatchObject({
      reason: 'invalid_scope',
    });
  });
});

describe('finding people', () => {
  test('works by id and by address in any case, returns each person once, and omits unknown ones', async () => {
    const { auth, call } = harness;
    const [ada, bob] = [await signUp(harness, 'Ada'), await signUp(harness, 'Bob')];
    const request = { ids: [ada.id, newId()], emails: ['ADA@example.com', 'bob@example.com', 'nobody@example.com'] };
    const { users } = await auth.findUsers(request, call());
    expect(users.map(({ id }) => id).sort()).toEqual([ada.id, bob.id].sort());
    expect(JSON.stringify(users)).not.toContain('argon2');
    const admin = await openSecurityAdmin(harness.store, parseSecrets(SECRET), harness.now);
    await admin.disable('bob@example.com');
    const found = async (activeOnly: boolean) => (await auth.findUsers({ ...request, activeOnly }, call())).users;
    expect((await found(true)).map(({ id }) => id)).toEqual([ada.id]);
    expect(await found(false)).toHaveLength(2);
    expect(await auth.findUsers({ ids: [], emails: [] }, call())).toEqual({ users: [] });
  });
});

describe('acting for a person later', () => {
  test('gives a caller of one tenant with the given scopes', async () => {
    const { auth, call, directory } = harness;
    const ada = await signUp(harness, 'Ada');
    const acme = directory.addOrg('Acme');
    directory.join(ada.id, acme, OrgRole.MEMBER);
    await harness.restart({});
    const act = async (orgId: string) => {
      const { token } = await auth.actAs(
        {
          userId: ada.id,
          orgId,
          scopes: ['resource:read'],
          agent: undefined,
          workspaceIds: [],
          automation: undefined,
          chain: [],
        },
        call(),
      );
      const me = await harness.account.getMe({}, call(token));
      return [me.tenant?.orgId, me.credential?.scopes];
    };
    expect(await act(acme)).toEqual([acme, ['resource:read']]);
    expect(await act('')).toEqual([undefined, ['resource:read']]);
    await expect(act(newId())).rejects.toMatchObject({ reason: 'tenant_boundary' });
    const unknown = auth.actAs(
      { userId: newId(), orgId: '', scopes: [], agent: undefined, workspaceIds: [], automation: undefined, chain: [] },
      call(),
    );
    await expect(unknown).rejects.toMatchObject({ reason: 'not_found' });
    const wrong = auth.actAs(
      {
        userId: ada.id,
        orgId: '',
        scopes: ['root'],
        agent: undefined,
        workspaceIds: [],
        automation: undefined,
        chain: [],
      },
      call(),
    );
    await expect(wrong).rejects.toMatchObject({ reason: 'invalid_scope' });
  });
});

describe('a token of an agent that acts for a person', () => {
  const agent = (roles: [string, WorkspaceRole][]) => ({
    id: newId(),
    name: 'Scribe',
    tainted: false,
    roles: roles.map(([workspaceId, role]) => ({ workspaceId, role })),
  });

  test('contains its roles, and reaches only its workspaces', async () => {
    const { auth, call } = harness;
    const ada = await signUp(harness, 'Ada');
    const [first, second, other] = [newId(), newId(), newId()];
    const acting = agent([
      [first, WorkspaceRole.EDITOR],
      [second, WorkspaceRole.VIEWER],
    ]);
    const asked = {
      userId: ada.id,
      orgId: '',
      scopes: ['content:write'],
      agent: acting,
      workspaceIds: [first, other],
      automation: undefined,
      chain: [],
    };
    const { token } = await auth.actAs(asked, call());
    const caller = await createTokenVerifier(async () => (await auth.getTokenKeys({}, call())).jwksJson)(token);
    expect(caller).toMatchObject({
      userId: ada.id,
      agent: { id: acting.id, name: 'Scribe', roles: { [first]: 'editor', [second]: 'viewer' } },
      credential: {
        type: 'internal',
        scopes: ['content:write'],
        workspaceIds: [first],
      },
    });
    expect(actorOf(caller)).toEqual({ type: 'agent', id: acting.id, name: 'Scribe' });
    expect([first, second, other].map((id) => reachesWorkspace(caller, id, null))).toEqual([true, false, false]);
  });

  test('of an automation names it, with the automations that led to it', async () => {
    const { auth, call } = harness;
    const ada = await signUp(harness, 'Ada');
    const workspaceId = newId();
    const chain = [newId(), newId()];
    const automation = { id: chain[1] as string, name: 'Welcome', tainted: true };
    const place = { userId: ada.id, orgId: '', scopes: ['content:write'], agent: undefined };
    const { token } = await auth.actAs({ ...place, workspaceIds: [workspaceId], automation, chain }, call());
    const caller = await createTokenVerifier(async () => (await auth.getTokenKeys({}, call())).jwksJson)(token);
    expect(caller).toMatchObject({ userId: ada.id, automation, chain });
    expect(actorOf(caller)).toEqual({ type: 'automation', id: automation.id, name: 'Welcome' });
    expect([workspaceId, newId()].map((id) => reachesWorkspace(caller, id, null))).toEqual([true, false]);
  });

  test('of an automation names its author, if that is another person', async () => {
    const { auth, call } = harness;
    const ada = await signUp(harness, 'Ada');
    const place = { userId: ada.id, orgId: '', scopes: ['content:write'], agent: undefined, workspaceIds: [] };
    const automation = { id: newId(), name: 'Welcome', tainted: false };
    const verify = createTokenVerifier(async () => (await auth.getTokenKeys({}, call())).jwksJson);
    const authorOf = async (authorId?: string) => {
      const { token } = await auth.actAs({ ...place, automation, chain: [], authorId }, call());
      return (await verify(token)).authorId;
    };
    const { id: other } = await signUp(harness, 'Bob');
    expect([await authorOf(), await authorOf(ada.id), await authorOf(other)]).toEqual([undefined, undefined, other]);
    await expect(authorOf(newId())).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('is refused for a scope or a role that manages', async () => {
    const { auth, call } = harness;
    const ada = await signUp(harness, 'Ada');
    const act = (scopes: string[], role: WorkspaceRole) =>
      auth.actAs(
        {
          userId: ada.id,
          orgId: '',
          scopes,
          agent: agent([[newId(), role]]),
          workspaceIds: [],
          automation: undefined,
          chain: [],
        },
        call(),
      );
    for (const scope of ['share:write', 'publish:write', 'member:write', 'api_key:write', 'agent:write', 'org:write']) {
      await expect(act([scope], WorkspaceRole.EDITOR)).rejects.toMatchObject({ reason: 'invalid_scope' });
    }
    for (const role of [WorkspaceRole.ADMIN, WorkspaceRole.OWNER, WorkspaceRole.GUEST, WorkspaceRole.UNSPECIFIED]) {
      await expect(act(['content:read'], role)).rejects.toMatchObject({ reason: 'invalid_value' });
    }
  });

  test('is refused by a method whose scope it lacks', async () => {
    const { auth, call } = harness;
    const ada = await signUp(harness, 'Ada');
    const acting = agent([[newId(), WorkspaceRole.EDITOR]]);
    const asked = {
      userId: ada.id,
      orgId: '',
      scopes: ['content:write'],
      agent: acting,
      workspaceIds: [],
      automation: undefined,
      chain: [],
    };
    const { token } = await auth.actAs(asked, call());
    const keys = harness.apiKeys.listApiKeys(ListApiKeysRequest.fromPartial({}), call(token));
    await expect(keys).rejects.toMatchObject({ reason: 'insufficient_scope' });
  });
});

describe('the keys of caller tokens', () => {
  test('are returned as public keys only', async () => {
    const { jwksJson } = await harness.auth.getTokenKeys({}, harness.call());
    const { keys } = JSON.parse(jwksJson);
    expect(keys).toEqual([expect.objectContaining({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' })]);
    expect(keys[0]).not.toHaveProperty('d');
  });
});
