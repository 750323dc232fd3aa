import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newAgent } from '../src/agents.js';
import { api, type Reply } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newAddress, newKey, PASSWORD, type Person, type SignedIn, signIn, signUp, tokenOf } from '../src/people.js';
import type { ApiKey, List, Member, Org, Resource, Workspace, WorkspaceMember } from '../src/records.js';
import { type StandingSystem, standingSystem } from '../src/standing.js';

let system: StandingSystem;
let owner: Person;
let org: Org;
let members: string;

beforeAll(async () => {
  system = await standingSystem('tight');
  owner = await signIn(system, system.owner);
  org = (await owner.post<Org>('/orgs', { name: 'Members' })).data;
  members = `/orgs/${org.id}/members`;
});

afterAll(() => system?.stop());

function effective(check: () => Promise<void>): Promise<void> {
  return system.mode === 'mesh' ? eventually(check) : check();
}

function facts({ status, body }: Reply<unknown>): [number, string | undefined] {
  return [status, body.error?.code];
}

async function join(name: string, role: string): Promise<{ person: Person; member: Member }> {
  const email = newAddress(name);
  const { data: member } = await owner.post<Member>(members, { email, role });
  return { person: await signUp(system, name, { email, invitation: tokenOf(member.invite_url) }), member };
}

async function keyWorks(key: string): Promise<[number, string | undefined]> {
  return facts(await api(system, key).get('/me'));
}

async function trySignUp(email: string, invitation?: string): Promise<Reply<SignedIn>> {
  const more = invitation === undefined ? {} : { invitation_token: invitation };
  return api(system).post<SignedIn>('/auth/sign-up', { email, password: PASSWORD, name: 'Somebody', ...more });
}

describe('an invitation', () => {
  test('is required for an account', async () => {
    const reply = await trySignUp(newAddress('uninvited'));
    expect([reply.status, reply.headers.getSetCookie()]).toEqual([403, []]);
    expect((await trySignUp(newAddress('guesser'), 'A'.repeat(43))).status).toBe(404);
  });

  test('shows its link once, to its sender', async () => {
    const email = newAddress('once');
    const headers = { 'Idempotency-Key': email };
    const made = await owner.post<Member>(members, { email, role: 'admin' }, { headers });
    expect(made.status).toBe(201);
    expect(made.data).toMatchObject({ email, role: 'admin', status: 'invited', user: null });
    expect(made.data.invite_url).toMatch(new RegExp(`^${system.baseUrl}/auth/sign-up\\?invite=[\\w-]{43}$`));
    const again = await owner.post<Member>(members, { email, role: 'admin' }, { headers });
    expect([again.data.id, again.data.invite_url]).toEqual([made.data.id, undefined]);
    const { text } = await owner.get<List<Member>>(`${members}?q=once`);
    expect(text).toContain(email);
    expect(text).not.toContain('invite_url');
  });

  test('makes the person who accepts it a member, once, and no person with another address', async () => {
    const email = newAddress('accepts');
    const { data: member } = await owner.post<Member>(members, { email, role: 'member' });
    const token = tokenOf(member.invite_url);
    expect(facts(await trySignUp(newAddress('thief'), token))[0]).toBe(403);
    const person = await signUp(system, 'Accepts', { email, invitation: token });
    const { data } = await person.get<List<Org>>('/orgs');
    expect(data.items).toMatchObject([{ id: org.id, role: 'member' }]);
    const { data: seen } = await owner.get<List<Member>>(`${members}?q=accepts`);
    expect(seen.items).toMatchObject([{ id: member.id, status: 'active', user: { id: person.user.id } }]);
    await eventually(async () => {
      const [shown] = (await owner.get<List<Member>>(`${members}?q=accepts`)).data.items;
      expect(Date.now() - Date.parse(shown?.last_active_at ?? '')).toBeLessThan(600_000);
    });
    expect(facts(await trySignUp(newAddress('second'), token))).toEqual([404, 'expired_link']);
    expect(facts(await owner.post(members, { email }))).toEqual([409, 'already_member']);
  });

  test('is accepted by a person who has an account, too', async () => {
    const { person } = await join('Has account', 'guest');
    const { data: own } = await owner.post<Org>('/orgs', { name: 'Another' });
    const { data: member } = await owner.post<Member>(`/orgs/${own.id}/members`, { email: person.user.email });
    const accept = () => person.post('/auth/accept-invitation', { token: tokenOf(member.invite_url) });
    expect((await api(system).post('/auth/accept-invitation', { token: 'x' })).status).toBe(401);
    const accepted = await accept();
    expect([accepted.status, accepted.data]).toEqual([200, { org_id: own.id, workspace_id: null }]);
    await effective(async () => expect((await person.get<Org>(`/orgs/${own.id}`)).data.role).toBe('member'));
    expect(facts(await accept())).toEqual([404, 'expired_link']);
  });

  test('is not accepted by an account with another address unless its sender allows that', async () => {
    const { person } = await join('Holds a forwarded link', 'guest');
    const { data: own } = await owner.post<Org>('/orgs', { name: 'Bound' });
    const invite = async (more: object) =>
      (await owner.post<Member>(`/orgs/${own.id}/members`, { email: newAddress('bound'), role: 'admin', ...more }))
        .data;
    const accept = async (invited: Member) =>
      person.post('/auth/accept-invitation', { token: tokenOf(invited.invite_url) });
    expect(facts(await accept(await invite({})))).toEqual([403, 'invitation_address_mismatch']);
    expect((await person.get(`/orgs/${own.id}`)).status).toBe(404);
    await owner.patch(`/orgs/${own.id}`, { settings: { allowed_email_domains: ['corp.example'] } });
    const other = await invite({ email: 'somebody@corp.example', any_account: true });
    expect(facts(await accept(other))).toEqual([403, 'email_domain_not_allowed']);
    await owner.patch(`/orgs/${own.id}`, { settings: { allowed_email_domains: [] } });
    expect((await accept(other)).status).toBe(200);
  });

  test('by id does not reveal the address of that person', async () => {
    const { person } = await join('Keeps an address', 'guest');
    const { data: own } = await owner.post<Org>('/orgs', { name: 'Curious' });
    const invited = await owner.post<Member>(`/orgs/${own.id}/members`, { user_id: person.user.id });
    expect([invited.status, invited.data.email]).toEqual([201, null]);
    expect(invited.text).not.toContain(person.user.email);
    expect((await owner.get(`/orgs/${own.id}/members?limit=50`)).text).not.toContain(person.user.email);
  });

  test('that is sent again has a new link, and the old one is invalid', async () => {
    const email = newAddress('again');
    const first = await owner.post<Member>(members, { email });
    const second = await owner.post<Member>(members, { email, role: 'guest' });
    expect([second.status, second.data.id, second.data.role]).toEqual([200, first.data.id, 'guest']);
    expect(facts(await trySignUp(email, tokenOf(first.data.invite_url)))).toEqual([404, 'expired_link']);
    expect((await trySignUp(email, tokenOf(second.data.invite_url))).status).toBeLessThan(300);
  });

  test('that is withdrawn is invalid', async () => {
    const email = newAddress('withdrawn');
    const { data: member } = await owner.post<Member>(members, { email });
    expect((await owner.del(`${members}/${member.id}`)).status).toBe(200);
    expect(facts(await trySignUp(email, tokenOf(member.invite_url)))).toEqual([404, 'expired_link']);
  });

  test('to a workspace makes an outsider a guest of its Org if the Org allows that', async () => {
    const { data: workspace } = await owner.post<Workspace>('/workspaces', { name: 'Guests', org_id: org.id });
    const path = `/workspaces/${workspace.id}/members`;
    const email = newAddress('outsider');
    const made = await owner.post<WorkspaceMember>(path, { email, role: 'editor' });
    expect([made.status, made.data.status]).toEqual([201, 'invited']);
    const person = await signUp(system, 'Outsider', { email, invitation: tokenOf(made.data.invite_url) });
    await effective(async () => {
      expect((await person.get<List<Org>>('/orgs')).data.items).toMatchObject([{ id: org.id, role: 'guest' }]);
      expect((await person.get<Workspace>(`/workspaces/${workspace.id}`)).data.role).toBe('editor');
    });
    await owner.patch(`/orgs/${org.id}`, { settings: { allow_external_sharing: false } });
    const refused = await owner.post(path, { email: newAddress('nobody') });
    expect(facts(refused)).toEqual([403, 'external_sharing_disabled']);
    await owner.patch(`/orgs/${org.id}`, { settings: { allow_external_sharing: true } });
  });
});

describe('a role', () => {
  test('in a workspace takes effect at once', async () => {
    const { person } = await join('Climber', 'member');
    const { data: workspace } = await owner.post<Workspace>('/workspaces', { name: 'Ladder', org_id: org.id });
    const create = async () =>
      facts(await person.post<Resource>('/resources', { type: 'folder', name: 'x', workspace_id: workspace.id }));
    expect(await create()).toEqual([404, 'not_found']);
    const path = `/workspaces/${workspace.id}/members`;
    const { data: member } = await owner.post<WorkspaceMember>(path, { user_id: person.user.id, role: 'viewer' });
    await effective(async () => expect(await create()).toEqual([403, 'insufficient_role']));
    await owner.patch(`${path}/${member.id}`, { role: 'editor' });
    await effective(async () => expect(await create()).toEqual([201, undefined]));
    await owner.patch(`${path}/${member.id}`, { role: 'commenter' });
    await effective(async () => expect(await create()).toEqual([403, 'insufficient_role']));
    expect((await person.del(`${path}/${member.id}`)).status).toBe(200);
    await effective(async () => expect(await create()).toEqual([404, 'not_found']));
  });

  test('by the default of a workspace takes effect at once', async () => {
    const { person } = await join('Default', 'member');
    const { data: workspace } = await owner.post<Workspace>('/workspaces', { name: 'Default', org_id: org.id });
    const seen = async () => (await person.get<Workspace>(`/workspaces/${workspace.id}`)).body.data?.role;
    expect(await seen()).toBeUndefined();
    await owner.patch(`/workspaces/${workspace.id}`, { default_role: 'commenter' });
    await effective(async () => expect(await seen()).toBe('commenter'));
    const { data } = await owner.get<List<WorkspaceMember>>(`/workspaces/${workspace.id}/members?limit=200`);
    const listed = data.items.find(({ principal }) => principal.id === person.user.id);
    expect(listed).toMatchObject({ id: null, source: 'org_default', role: 'commenter' });
    await owner.patch(`/workspaces/${workspace.id}`, { default_role: null });
    await effective(async () => expect(await seen()).toBeUndefined());
  });

  test('in an Org takes effect at once', async () => {
    const { person, member } = await join('Riser', 'member');
    const invite = async () => facts(await person.post(members, { email: newAddress('by.riser') }));
    expect(await invite()).toEqual([403, 'insufficient_role']);
    await owner.patch(`${members}/${member.id}`, { role: 'admin' });
    await effective(async () => expect(await invite()).toEqual([201, undefined]));
    await owner.patch(`${members}/${member.id}`, { role: 'member' });
    await effective(async () => expect(await invite()).toEqual([403, 'insufficient_role']));
  });

  test('above one’s own can neither be granted nor removed', async () => {
    const { person: admin } = await join('Admin', 'admin');
    const { member: other } = await join('Second owner', 'owner');
    expect(facts(await admin.post(members, { email: newAddress('boss'), role: 'owner' }))).toEqual([
      403,
      'role_escalation',
    ]);
    const { member } = await join('Plain', 'member');
    expect(facts(await admin.patch(`${members}/${member.id}`, { role: 'owner' }))).toEqual([403, 'role_escalation']);
    expect(facts(await admin.patch(`${members}/${other.id}`, { role: 'member' }))).toEqual([403, 'insufficient_role']);
    expect(facts(await admin.del(`${members}/${other.id}`))).toEqual([403, 'insufficient_role']);
    expect((await owner.del(`${members}/${other.id}`)).status).toBe(200);
  });

  test('of the last owner of an Org is kept', async () => {
    const founder = (await join('Founder', 'member')).person;
    const { data: own } = await founder.post<Org>('/orgs', { name: 'Own' });
    const path = `/orgs/${own.id}/members`;
    const { data } = await founder.get<List<Member>>(path);
    const me = data.items[0] as Member;
    expect(facts(await founder.patch(`${path}/${me.id}`, { role: 'admin' }))).toEqual([409, 'last_owner']);
    expect(facts(await founder.patch(`${path}/${me.id}`, { status: 'suspended' }))).toEqual([409, 'last_owner']);
    expect(facts(await founder.del(`${path}/${me.id}`))).toEqual([409, 'last_owner']);
    await founder.post(path, { email: newAddress('not.yet'), role: 'owner' });
    expect(facts(await founder.del(`${path}/${me.id}`))).toEqual([409, 'last_owner']);
  });

  test('of the last owner of a workspace is kept, and one of two may leave', async () => {
    const { person: first } = await join('First', 'member');
    const { person: second } = await join('Second', 'member');
    const { data: workspace } = await first.post<Workspace>('/workspaces', { name: 'Owned', org_id: org.id });
    const path = `/workspaces/${workspace.id}/members`;
    const [me] = (await first.get<List<WorkspaceMember>>(path)).data.items;
    expect(facts(await first.patch(`${path}/${me?.id}`, { role: 'viewer' }))).toEqual([409, 'last_owner']);
    expect(facts(await first.del(`${path}/${me?.id}`))).toEqual([409, 'last_owner']);
    const { data: other } = await first.post<WorkspaceMember>(path, { user_id: second.user.id, role: 'owner' });
    const leave = await Promise.all([first.del(`${path}/${me?.id}`), second.del(`${path}/${other.id}`)]);
    expect(leave.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

describe('a person who is suspended or removed', () => {
  test('loses the Org at once, with their keys, and gets both back', async () => {
    const { person, member } = await join('Suspended', 'admin');
    const { key } = await newKey(person, ['org:read'], { org_id: org.id });
    expect(await keyWorks(key)).toEqual([200, undefined]);
    await owner.patch(`${members}/${member.id}`, { status: 'suspended' });
    await effective(async () => expect(facts(await person.get(`/orgs/${org.id}`))).toEqual([404, 'not_found']));
    await eventually(async () => expect(await keyWorks(key)).toEqual([401, 'suspended_key']));
    await owner.patch(`${members}/${member.id}`, { status: 'active' });
    await effective(async () => expect((await person.get(`/orgs/${org.id}`)).status).toBe(200));
    await eventually(async () => expect(await keyWorks(key)).toEqual([200, undefined]));
  });

  test('leaves their workspaces and private items to a receiver, or else to the oldest owner', async () => {
    const [receiver, admin] = [await join('Heir', 'member'), await join('Host', 'admin')];
    const body = { name: 'Hosted', org_id: org.id };
    const hosted = (await admin.person.post<Workspace>('/workspaces', body)).data;
    const put = ({ user: { id } }: Person, place: Workspace) =>
      admin.person.post(`/workspaces/${place.id}/members`, { user_id: id, role: 'editor' });
    await put(receiver.person, hosted);
    const leave = async (query: string) => {
      const { person, member } = await join('Leaver', 'member');
      await put(person, hosted);
      const own = (await person.post<Workspace>('/workspaces', { name: 'Own', org_id: org.id })).data;
      const make = async (place: Workspace, more: object = {}) =>
        (await person.post<Resource>('/resources', { type: 'document', name: 'D', workspace_id: place.id, ...more }))
          .data;
      await make(own);
      await make(own);
      const secret = await make(hosted, { access_mode: 'restricted', content: 'secret' });
      await newAgent(person, { org_id: org.id });
      const automation = {
        trigger: { type: 'manual', config: {} },
        actions: [{ id: 'end', type: 'stop', config: {} }],
      };
      for (const { id } of [own, hosted]) {
        expect((await person.post('/automations', { name: 'A', workspace_id: id, ...automation })).status).toBe(201);
      }
      const { data } = await owner.del<{ transferred: object }>(`${members}/${member.id}${query}`);
      return { own, secret, transferred: data.transferred };
    };

    const given = await leave(`?transfer_to_member_id=${receiver.member.id}`);
    expect(given.transferred).toEqual({ resources: 3, agents: 1, api_keys: 0, automations: 2 });
    expect((await receiver.person.get(`/resources/${given.secret.id}`)).status).toBe(200);
    expect((await receiver.person.get(`/workspaces/${given.own.id}`)).status).toBe(200);
    expect((await owner.get(`/resources/${given.secret.id}`)).status).toBe(404);

    const left = await leave('');
    // The oldest owner is not in the workspace of the other automation.
    expect(left.transferred).toMatchObject({ resources: 3, agents: 1, automations: 1 });
    expect((await owner.get(`/resources/${left.secret.id}`)).status).toBe(200);
    expect((await receiver.person.get(`/resources/${left.secret.id}`)).status).toBe(404);
    expect((await owner.get(`/workspaces/${left.own.id}`)).status).toBe(200);
  });

  test('transfers their keys to a receiver, or else the keys stop', async () => {
    const { person, member } = await join('Giver', 'admin');
    const { person: receiverPerson, member: receiver } = await join('Heir', 'admin');
    const { key } = await newKey(person, ['org:read'], { org_id: org.id });
    const removed = await owner.del(`${members}/${member.id}?transfer_to_member_id=${receiver.id}`);
    expect(removed.data).toMatchObject({ id: member.id, deleted: true, transferred: { api_keys: 1 } });
    await eventually(async () => {
      const { data } = await api(system, key).get<{ user: { id: string } }>('/me');
      expect(data.user.id).toBe(receiverPerson.user.id);
    });
    // The person who leaves knows the secret, and would act as an owner with it.
    const { data: list } = await owner.get<List<Member>>(`${members}?limit=200`);
    const heir = list.items.find(({ role }) => role === 'owner')?.id;
    const left = await receiverPerson.del(`${members}/${receiver.id}?transfer_to_member_id=${heir}`);
    expect(left.data).toMatchObject({ deleted: true, transferred: { api_keys: 0 } });
    await eventually(async () => expect(await keyWorks(key)).toEqual([401, 'suspended_key']));
    await eventually(async () => {
      const headers = { 'X-Tenant': org.id };
      const { data } = await owner.get<List<{ type: string; title: string }>>('/notifications', { headers });
      expect(data.items).toContainEqual(
        expect.objectContaining({ type: 'key_suspended', title: expect.stringContaining('“Key” was suspended') }),
      );
    });
  });
});

describe('an Org that is deleted', () => {
  test('is hidden and its keys are refused at once, until the deletion is undone', async () => {
    const { data: doomed } = await owner.post<Org>('/orgs', { name: 'Doomed' });
    const { data: workspace } = await owner.post<Workspace>('/workspaces', { name: 'In it', org_id: doomed.id });
    const { key } = await newKey(owner, ['org:read', 'workspace:read'], { org_id: doomed.id });
    const keyWorks = async () => facts(await api(system, key).get(`/orgs/${doomed.id}`));
    expect(await keyWorks()).toEqual([200, undefined]);
    expect(facts(await owner.del(`/orgs/${doomed.id}?confirm=wrong`))).toEqual([400, 'invalid_value']);
    const { data } = await owner.del(`/orgs/${doomed.id}?confirm=${doomed.slug}`);
    expect(data).toMatchObject({ id: doomed.id, deleted: true, purge_at: expect.any(String) });
    await effective(async () => {
      expect(facts(await owner.get(`/orgs/${doomed.id}`))).toEqual([404, 'not_found']);
      expect(facts(await owner.get(`/workspaces/${workspace.id}`))).toEqual([404, 'not_found']);
    });
    if (system.mode === 'embedded') expect((await keyWorks())[0]).not.toBe(200);
    await eventually(async () => expect((await keyWorks())[0]).toBe(401));
    const listed = await owner.get<List<Org>>('/orgs?status=deletion_scheduled');
    expect(listed.data.items.map(({ id }) => id)).toEqual([doomed.id]);
    await owner.patch(`/orgs/${doomed.id}`, { status: 'active' });
    await effective(async () => expect((await owner.get(`/workspaces/${workspace.id}`)).status).toBe(200));
    await eventually(async () => expect(await keyWorks()).toEqual([200, undefined]));
  });
});

describe('a key', () => {
  test('that is revoked is refused within a second, and cannot be revoked again', async () => {
    const { id, key } = await newKey(owner, ['org:read']);
    const by = api(system, key);
    expect((await by.get('/me')).status).toBe(200);
    expect((await owner.del(`/api-keys/${id}`)).data).toEqual({ id, deleted: true });
    await eventually(async () => expect(facts(await by.get('/me'))).toEqual([401, 'revoked_key']));
    expect(facts(await owner.del(`/api-keys/${id}`))).toEqual([404, 'not_found']);
  });

  test('that is rotated has a new secret, shown once, and the former one works on', async () => {
    const { id, key: former } = await newKey(owner, ['org:read'], { org_id: org.id });
    const headers = { 'Idempotency-Key': id };
    const rotate = () => owner.post<ApiKey>(`/api-keys/${id}/rotate`, {}, { headers });
    const { status, data } = await rotate();
    expect([status, data.id, data.name]).toEqual([200, id, 'Key']);
    const again = await rotate();
    expect([again.data.key, again.headers.get('idempotency-replayed')]).toEqual([undefined, 'true']);
    for (const key of [former, data.key ?? '']) expect(await keyWorks(key)).toEqual([200, undefined]);
    const { data: endpoints } = await owner.get<{ endpoints: { path: string; status: string }[] }>('/capabilities');
    const rotation = endpoints.endpoints.find(({ path }) => path === '/api/v1/api-keys/{key_id}/rotate');
    expect(rotation?.status).toBe('preview');
  });

  test('is shown once and listed without its secret', async () => {
    const { id, key } = await newKey(owner, ['org:read']);
    const { data, text } = await owner.get<List<ApiKey>>('/api-keys?limit=200');
    expect(data.items.map((item) => item.id)).toContain(id);
    expect(text).not.toContain(key.slice(20));
    expect(data.items.find((item) => item.id === id)).toMatchObject({ status: 'active', last4: key.slice(-4) });
  });

  test('grants no other key more than it has', async () => {
    const { key } = await newKey(owner, ['api_key:write', 'org:read']);
    const by = api(system, key);
    expect(facts(await by.post('/api-keys', { name: 'More', scopes: ['org:write'] }))).toEqual([
      403,
      'scope_escalation',
    ]);
    expect(facts(await by.post('/api-keys', { name: 'Less', scopes: ['org:read'] }))).toEqual([201, undefined]);
    expect(facts(await by.post('/api-keys', { name: 'None', scopes: ['org:fly'] }))).toEqual([400, 'invalid_scope']);
  });

  test('is accepted only from the networks that it names', async () => {
    const elsewhere = await newKey(owner, ['org:read'], { ip_allowlist: ['192.0.2.0/24'] });
    expect(facts(await api(system, elsewhere.key).get('/me'))).toEqual([403, 'ip_not_allowed']);
    const here = await newKey(owner, ['org:read'], { ip_allowlist: ['127.0.0.0/8', '::1/128'] });
    expect(facts(await api(system, here.key).get('/me'))).toEqual([200, undefined]);
  });

  test('of a Personal tenant reaches no Org, and that of an Org nothing else', async () => {
    const personal = api(system, system.owner.apiKey);
    expect(facts(await personal.get(`/orgs/${org.id}`))).toEqual([403, 'tenant_boundary']);
    const { key } = await newKey(owner, ['org:write', 'workspace:read'], { org_id: org.id });
    expect(facts(await api(system, key).post('/orgs', { name: 'Another' }))).toEqual([403, 'tenant_boundary']);
    const { data } = await personal.get<{ default_workspace_id: string }>('/me');
    const home = await api(system, key).get(`/workspaces/${data.default_workspace_id}`);
    expect(facts(home)).toEqual([403, 'tenant_boundary']);
  });
});
