import { type Mailbox, openMailbox } from '@commonplace/kit/testing/mailbox';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Secret, TOTP } from 'otpauth';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newAddress, PASSWORD, signIn, signUp } from '../src/people.js';
import type { Member, Org, Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

const NEXT = 'staple battery horse correct';
let system: OwnSystem;
let mailbox: Mailbox;
beforeAll(async () => {
  mailbox = await openMailbox();
  system = await startSystem({ COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_SMTP_URL: mailbox.url });
}, 180_000);
afterAll(async () => {
  await system?.stop();
  await mailbox?.close();
});

test('a changed password ends the other sessions everywhere within a second', async () => {
  const ada = await signUp(system, 'Ada');
  const other = await signIn(system, { email: ada.user.email, password: PASSWORD });
  expect((await other.get('/me')).status).toBe(200);
  const refused = await ada.post('/auth/change-password', { current_password: PASSWORD, new_password: 'password1' });
  expect([refused.status, refused.error.code]).toEqual([400, 'weak_password']);
  const wrong = await ada.post('/auth/change-password', { current_password: 'wrong', new_password: NEXT });
  expect([wrong.status, wrong.error.code]).toEqual([403, 'wrong_password']);
  const { data } = await ada.post('/auth/change-password', { current_password: PASSWORD, new_password: NEXT });
  expect(data).toEqual({ sessions_ended: 1 });
  await eventually(async () => expect((await other.get('/me')).status).toBe(401));
  expect((await ada.get('/me')).status).toBe(200);
  await mailbox.next(ada.user.email, /was changed/);
  await signIn(system, { email: ada.user.email, password: NEXT });
});

test('a forgotten password is replaced through the link of an e-mail', async () => {
  const bob = await signUp(system, 'Bob');
  const asked = await api(system).post('/auth/forgot-password', { email: bob.user.email });
  const unknown = await api(system).post('/auth/forgot-password', { email: newAddress('nobody') });
  expect([asked.status, asked.data]).toEqual([unknown.status, unknown.data]);
  const [, path = ''] = await mailbox.next(bob.user.email, /http:\/\/[^/]+(\/auth\/reset-password\?token=[\w-]{43})/);
  const page = await api(system).get(path);
  expect(page.text).toContain('Choose a new password');
  const token = new URLSearchParams(path.split('?')[1]).get('token');
  const reset = await api(system).post('/auth/reset-password', { token, new_password: NEXT });
  expect(reset.data).toEqual({ sessions_ended: 1 });
  expect((await api(system).post('/auth/reset-password', { token, new_password: NEXT })).error.code).toBe(
    'expired_link',
  );
  await eventually(async () => expect((await bob.get('/me')).status).toBe(401));
  await signIn(system, { email: bob.user.email, password: NEXT });
});

test('sessions are listed and ended', async () => {
  const eve = await signUp(system, 'Eve');
  const other = await signIn(system, { email: eve.user.email, password: PASSWORD });
  interface Listed {
    readonly items: { id: string; current: boolean; network: string; device: string }[];
  }
  const listed = async () => (await eve.get<Listed>('/auth/sessions')).data.items;
  expect((await listed()).map(({ current, network, device }) => ({ current, network, device }))).toEqual(
    expect.arrayContaining([
      { current: true, network: '127.0.0.1', device: 'node' },
      { current: false, network: '127.0.0.1', device: 'node' },
    ]),
  );
  const id = (await listed()).find(({ current }) => !current)?.id;
  expect((await eve.del(`/auth/sessions/${id}`)).data).toEqual({ current: false });
  await eventually(async () => expect((await other.get('/me')).status).toBe(401));
  const third = await signIn(system, { email: eve.user.email, password: PASSWORD });
  expect((await eve.post('/auth/sessions/end-others', {})).data).toEqual({ sessions_ended: 1 });
  await eventually(async () => expect((await third.get('/me')).status).toBe(401));
  expect(await listed()).toHaveLength(1);
  const foreign = await api(system, { ...eve.session, csrf: 'another' }).post('/auth/sessions/end-others', {});
  expect([foreign.status, foreign.error.code]).toEqual([403, 'csrf_failed']);
});

test('the account page creates a key by a form, shows it once and revokes it', async () => {
  const fay = await signUp(system, 'Fay');
  const form = (path: string, fields: Record<string, string>) =>
    api(system, fay.session).send('POST', path, new URLSearchParams({ csrf: fay.session.csrf, ...fields }).toString(), {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
  const page = await fay.get('/auth/account');
  expect(page.status).toBe(200);
  for (const text of ['Your account', fay.user.email, 'Sessions', 'API keys', 'Change the password']) {
    expect(page.text).toContain(text);
  }
  const refused = await form('/auth/account/keys', { name: 'Laptop', days: 'ten', 'scope:resource:read': 'on' });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('value="Laptop"');
  expect(refused.text).toMatch(/name="scope:resource:read"[^>]*checked/);
  expect(refused.text).not.toMatch(/name="scope:resource:write"[^>]*checked/);
  const made = await form('/auth/account/keys', { name: 'Laptop', 'scope:resource:read': 'on' });
  const [key = ''] = /wsk_p_\w+/.exec(made.text) ?? [];
  expect((await api(system, key).get('/me')).status).toBe(200);
  const shown = await fay.get('/auth/account');
  expect(shown.text).toContain('Laptop');
  expect(shown.text).not.toContain(key);
  expect(shown.text).toContain('Revoke<span class="unseen"> Laptop');
  const [, id = ''] = /name="key_id" value="([^"]+)"/.exec(shown.text) ?? [];
  expect((await form('/auth/account/keys/revoke', { key_id: id })).status).toBe(303);
  await eventually(async () => expect((await api(system, key).get('/me')).status).toBe(401));
  const wrong = await form('/auth/change-password', { current_password: 'wrong', new_password: NEXT });
  expect([wrong.status, wrong.text.includes('The current password is wrong')]).toEqual([403, true]);
  expect((await api(system).get('/auth/account')).headers.get('location')).toBe('/auth/sign-in?next=%2Fauth%2Faccount');
});

test('a second factor is required after the password, and an address is confirmed by a link', async () => {
  const gil = await signUp(system, 'Gil');
  const { data: begun } = await gil.post<{ secret: string }>('/auth/totp/begin', {});
  const codeOf = (steps: number) =>
    new TOTP({ secret: Secret.fromBase32(begun.secret) }).generate({ timestamp: Date.now() + steps * 30_000 });
  const { data } = await gil.post<{ recovery_codes: string[] }>('/auth/totp/confirm', { code: codeOf(0) });
  expect(data.recovery_codes).toHaveLength(10);
  // The page of the recovery codes is reloaded.
  const fields = { csrf: gil.session.csrf, secret: begun.secret, uri: '', code: codeOf(0) };
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams(fields).toString();
  const reloaded = await api(system, gil.session).send('POST', '/auth/totp/confirm', body, { headers });
  expect(reloaded.text).toContain('The authenticator app is set up, and its recovery codes were shown.');
  expect(reloaded.text).toContain('You have 10 recovery codes left.');
  expect(reloaded.text).toContain('New recovery codes');
  const credentials = { email: gil.user.email, password: PASSWORD };
  const first = await api(system).post('/auth/sign-in', credentials);
  expect([first.status, first.error.code, first.headers.get('set-cookie')]).toEqual([
    401,
    'second_factor_required',
    null,
  ]);
  const { challenge } = first.error.details as unknown as { challenge: string };
  const wrong = await api(system).post('/auth/second-factor', { challenge, code: '000000' });
  expect([wrong.status, wrong.error.code]).toEqual([403, 'wrong_code']);
  const done = await api(system).post('/auth/second-factor', { challenge, code: codeOf(1) });
  expect(done.headers.get('set-cookie')).toMatch(/session=/);
  const [code = ''] = data.recovery_codes;
  expect((await api(system).post('/auth/sign-in', { ...credentials, code })).status).toBe(200);
  const again = await api(system).post('/auth/sign-in', { ...credentials, code });
  expect([again.status, again.error.code]).toEqual([403, 'wrong_code']);
  const change = { current_password: PASSWORD, new_password: NEXT };
  const changed = async (more: object) => (await gil.post('/auth/change-password', { ...change, ...more })).error.code;
  expect([await changed({}), await changed({ code })]).toEqual(['second_factor_required', 'wrong_code']);

  interface Security {
    readonly email_verified: boolean;
    readonly totp_enabled: boolean;
    readonly recovery_codes_left: number;
  }
  const security = async () => (await gil.get<Security>('/auth/security')).data;
  expect(await security()).toMatchObject({ email_verified: false, totp_enabled: true, recovery_codes_left: 9 });
  const [, token] = await mailbox.next(gil.user.email, /verify-email\?token=([\w-]{43})/);
  expect((await api(system).get(`/auth/verify-email?token=${token}`)).status).toBe(200);
  expect((await security()).email_verified).toBe(false);
  expect((await api(system).post('/auth/verify-email', { token })).data).toEqual({
    email: gil.user.email,
    invitations_joined: 0,
  });
  expect((await security()).email_verified).toBe(true);
});

test('an invitation is sent by e-mail, its page shows who invites to what, and the verified address joins', async () => {
  const host = await signUp(system, 'Host');
  const { data: org } = await host.post<Org>('/orgs', { name: 'Acme & Sons' });
  const email = newAddress('guest');
  const invitation = { email, role: 'member', message: 'Come and <see>' };
  await host.post<Member>(`/orgs/${org.id}/members`, invitation);
  const [, path = ''] = await mailbox.next(email, /(\/auth\/sign-up\?invite=[\w-]+)/);
  const page = await api(system).get(path);
  for (const text of ['Host', 'Acme &amp; Sons', 'Come and &lt;see>']) expect(page.text).toContain(text);
  const wrong = await api(system).get('/auth/sign-up?invite=wrong');
  expect([wrong.status, wrong.text.includes('This invitation is unknown')]).toEqual([404, true]);

  const token = new URLSearchParams(path.split('?')[1]).get('invite') ?? '';
  const guest = await signUp(system, 'Guest', { email, invitation: token });
  const early = await guest.post('/auth/accept-invitation', { token });
  expect([early.status, early.error.code]).toEqual([403, 'email_not_verified']);
  const [, proof] = await mailbox.next(email, /verify-email\?token=([\w-]{43})/);
  expect((await api(system).post('/auth/verify-email', { token: proof })).data).toEqual({
    email,
    invitations_joined: 1,
  });
  expect((await guest.get(`/orgs/${org.id}`)).status).toBe(200);

  const { data: workspace } = await host.post<Workspace>('/workspaces', { name: 'Plans', org_id: org.id });
  await host.post(`/workspaces/${workspace.id}/members`, { user_id: guest.user.id, role: 'editor' });
  const node = { type: 'document', name: 'Plan', workspace_id: workspace.id };
  const { data: document } = await host.post<Resource>('/resources', node);
  const comment = { body: 'Have a look', mentions: [guest.user.id] };
  expect((await host.post(`/resources/${document.id}/comments`, comment)).status).toBe(201);
  await mailbox.next(email, /Subject: Host mentioned you/);
});

test('one address gets five invitations an hour, whoever sends them, and the names in them are no links', async () => {
  const host = await signUp(system, 'Free at http://evil.example/x');
  const { data: org } = await host.post<Org>('/orgs', { name: 'Acme www.evil.example' });
  const { data: workspace } = await host.post<Workspace>('/workspaces', { name: 'Plans' });
  const email = newAddress('flooded');
  const answers = [];
  for (const path of [
    `/orgs/${org.id}`,
    `/workspaces/${workspace.id}`,
    `/orgs/${org.id}`,
    `/workspaces/${workspace.id}`,
  ])
    for (let i = 0; i < 2; i++) answers.push(await host.post<Member>(`${path}/members`, { email }));
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 201, 200, 200, 200, 200, 200]);
  expect(answers.every(({ data }) => data.invite_url?.includes('invite='))).toBe(true);
  const warned = answers.map(({ body }) => (body.warnings ?? []).map(({ code }: { code: string }) => code).join());
  expect(warned).toEqual(['', '', '', '', '', 'mail_not_sent', 'mail_not_sent', 'mail_not_sent']);
  for (let i = 0; i < 5; i++) await mailbox.next(email, /invites you to/);
  expect(mailbox.received.filter(({ to }) => to.includes(email))).toEqual([]);
});
