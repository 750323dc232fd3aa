import { AppError } from '@commonplace/kit/errors';
import { safeNext } from '@commonplace/site/auth';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ADA, type AuthStage, cookieIn, openAuthStage, signedIn, TOKEN } from './auth-stage.js';

const EVIL = `"><script>alert('1')</script>`;
const ESCAPED = `&quot;>&lt;script>alert('1')&lt;/script>`;

let stage: AuthStage;
beforeAll(async () => {
  stage = await openAuthStage('http://127.0.0.1:8080');
});
afterAll(() => stage.close());

const htmlOf = async (path: string, headers = {}) => (await stage.get(path, headers)).text();

describe('the pages', () => {
  test.each(['/auth/sign-in', '/auth/sign-up', `/auth/sign-up?invite=${TOKEN}`])('%s needs no script', async (path) => {
    const answer = await stage.get(path);
    const html = await answer.text();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'self'/);
    expect(answer.headers.get('content-security-policy')).not.toMatch(/script|unsafe/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    // With no-referrer a browser would send `Origin: null` with our own form.
    expect(answer.headers.get('referrer-policy')).toBe('strict-origin');
    expect(html).not.toMatch(/<script|<style|style=|\son\w+=/);
    expect(html).toContain('<html lang="en">');
    for (const [, id] of html.matchAll(/<input [^>]*\bid="(\w+)"/g)) expect(html).toContain(`<label for="${id}">`);
  });

  test.each(['/auth/sign-in', '/auth/sign-up', '/auth/reset-password?token=a'])(
    '%s hides the characters of passwords',
    async (path) => {
      const fields = [...(await htmlOf(path)).matchAll(/<input [^>]*>/g)].map(([field]) => field);
      const secret = fields.filter((field) => /name="[^"]*password"/.test(field));
      expect(secret.length).toBeGreaterThan(0);
      for (const field of secret) expect(field).toContain('type="password"');
    },
  );

  test.each(['/auth', '/auth/', '/auth/sign-inn', '/auth/%zz', '/p', '/f/', '/s', '/docs/nope', '/nope'])(
    '%s is a page for browsers that says that there is none, and an error for programs',
    async (path) => {
      const browser = await stage.get(path, { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
      expect([browser.status, browser.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
      expect(await browser.text()).toContain('<h1>There is no such page</h1>');
      for (const accept of ['*/*', 'application/json']) {
        const program = await stage.get(path, { accept });
        expect([program.status, await program.json()]).toMatchObject([404, { error: { code: 'route_not_found' } }]);
      }
    },
  );

  test('a form that cannot be read is answered with a page to browsers, and with JSON to programs', async () => {
    const send = (accept: string) =>
      fetch(`${stage.baseUrl}/auth/sign-in`, {
        method: 'POST',
        headers: { accept, origin: 'http://127.0.0.1:8080' },
        body: new URLSearchParams({ email: 'a'.repeat(70_000) }),
      });
    const browser = await send('text/html,*/*;q=0.8');
    expect([browser.status, browser.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
    expect(await browser.text()).toContain('A body has at most 65536 bytes.');
    expect(await (await send('*/*')).json()).toMatchObject({ error: { code: 'payload_too_large' } });
  });

  test('the address of an action leads a browser to the account page', async () => {
    for (const path of ['/auth/totp/confirm', '/auth/recovery-codes', '/auth/account/keys']) {
      const answer = await stage.get(path, { accept: 'text/html' });
      expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 303, '/auth/account']);
      expect((await stage.get(path, { accept: '*/*' })).status).toBe(404);
    }
  });

  test.each(['/auth/sign-up', '/auth/reset-password?token=a'])(
    '%s asks for the length that identity requires',
    async (path) => {
      const html = await htmlOf(path);
      expect(html).toContain('12 characters or more.');
      expect(html).toMatch(/<input [^>]*type="password"[^>]*minLength="12"/i);
    },
  );

  test('load a script of this server only, if browsers accept its address for passkeys', async () => {
    const named = await openAuthStage('https://wiki.example.com');
    try {
      const answer = await named.get('/auth/sign-in');
      expect(answer.headers.get('content-security-policy')).toMatch(/; script-src 'self'; connect-src 'self'$/);
      const html = await answer.text();
      const [, path = ''] = /<script src="(\/assets\/passkey-\w+\.js)" defer/.exec(html) ?? [];
      expect((await named.get(path)).headers.get('content-type')).toMatch(/^text\/javascript/);
      expect(html).not.toMatch(/<script>|\son\w+=/);
    } finally {
      await named.close();
    }
  });

  test('show who invites to what, and that a token is invalid', async () => {
    const html = await htmlOf(`/auth/sign-up?invite=${TOKEN}`);
    for (const text of ['Grace', 'Acme &amp; Sons', 'Welcome &lt;all>']) expect(html).toContain(text);
    const failed = await stage.form('/auth/sign-up', { email: 'no', invitation_token: TOKEN });
    expect(await failed.text()).toContain('Acme &amp; Sons');
    const answer = await stage.get('/auth/sign-up?invite=wrong');
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain('This invitation is unknown, used up, revoked or expired.');
  });

  test('lead on to where a person wanted to go, and back to an invitation', async () => {
    const invitation = `/auth/sign-up?invite=${TOKEN}`;
    const signIn = await htmlOf(`/auth/sign-in?next=${encodeURIComponent(invitation)}`);
    expect(signIn).toContain(`<a href="${invitation}">Sign up</a>`);
    const next = encodeURIComponent('/s/a?b=c');
    expect(await htmlOf(`/auth/sign-in?next=${next}`)).toContain(`<a href="/auth/sign-up?next=${next}">Sign up</a>`);
    const signUp = await htmlOf(`/auth/sign-up?next=${next}`);
    expect(signUp).toContain(`<a href="/auth/sign-in?next=${next}">Sign in</a>`);
    expect(signUp).toContain('<input type="hidden" name="next" value="/s/a?b=c"/>');
    const failed = await stage.form('/auth/sign-up', { email: 'no', next: '/s/a?b=c' });
    expect(await failed.text()).toContain('<input type="hidden" name="next" value="/s/a?b=c"/>');
    const code = await stage.form('/auth/second-factor', { challenge: 'x', code: '', next: '/s/a?b=c' });
    expect(await code.text()).toContain(`<a href="/auth/sign-in?next=${next}">Begin again</a>`);
  });

  test('keep the token of an invitation, also for people with an account', async () => {
    const html = await htmlOf('/auth/sign-up?invite=a%20b');
    expect(html).toContain('<input type="hidden" name="invitation_token" value="a b"/>');
    expect(html).toContain('href="/auth/sign-in?next=%2Fauth%2Fsign-up%3Finvite%3Da%2520b"');
  });

  test('show who is signed in, and a way to sign out', async () => {
    const { cookie, csrf } = await signedIn(stage);
    for (const path of ['/auth/sign-in', '/auth/sign-up', '/auth/sign-out']) {
      const html = await htmlOf(path, { cookie });
      expect(html).toContain('<strong>Ada &lt;3</strong>');
      expect(html).toContain('action="/auth/sign-out"');
      expect(html).toContain(`name="csrf" value="${csrf}"`);
    }
    const signedOut = await stage.get('/auth/sign-out');
    expect([signedOut.status, signedOut.headers.get('location')]).toEqual([303, '/auth/sign-in']);
  });

  test('escape text from outside', async () => {
    const evil = encodeURIComponent(EVIL);
    const { cookie } = await signedIn(stage);
    for (const html of [
      await htmlOf(`/auth/sign-in?next=${evil}`),
      await htmlOf(`/auth/sign-up?invite=${evil}`),
      await htmlOf(`/auth/sign-up?invite=${evil}`, { cookie }),
      await (await stage.form('/auth/sign-in', { email: EVIL, password: 'x', next: EVIL })).text(),
      await (await stage.form('/auth/sign-up', { name: EVIL, email: 'x', invitation_token: EVIL })).text(),
      await (await stage.form('/auth/sign-in', { email: 'x', password: 'x', [EVIL]: 'x' })).text(),
    ]) {
      expect(html).toContain(ESCAPED);
      expect(html).not.toContain('<script');
    }
  });

  test('show that identity is unavailable', async () => {
    const { cookie } = await signedIn(stage);
    stage.identity.failures.set('getSession', new AppError('UNAVAILABLE', 'service_unavailable', 'Try again shortly.'));
    const answer = await stage.get('/auth/sign-in', { cookie });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await answer.text()).toContain('Try again shortly.');
    expect(cookieIn(answer)).toBeUndefined();
  });
});

describe('a posted form', () => {
  test('signs in and continues', async () => {
    const answer = await stage.form('/auth/sign-in', { email: ADA.email, password: ADA.password });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/docs']);
    expect(cookieIn(answer)?.header).toMatch(/^session=\w+$/);
    const next = await stage.form('/auth/sign-in', {
      email: ADA.email,
      password: ADA.password,
      next: '/docs/errors#x',
    });
    expect(next.headers.get('location')).toBe('/docs/errors#x');
    const evil = await stage.form('/auth/sign-in', {
      email: ADA.email,
      password: ADA.password,
      next: '//evil.example',
    });
    expect(evil.headers.get('location')).toBe('/docs');
  });

  test('is shown again with the error at each field, and never with the password', async () => {
    const fields = { name: '', email: 'nobody', password: 'secret1', invitation_token: TOKEN };
    const answer = await stage.form('/auth/sign-up', fields);
    const html = await answer.text();
    expect(answer.status).toBe(400);
    expect(html).toContain('<title>Error: Sign up');
    expect(html).toContain('role="alert" tabindex="-1" autofocus');
    expect(html).toContain('<a href="#email">E-mail address must be an e-mail address.</a>');
    expect(html).toMatch(
      /<input type="email" id="email"[^>]*value="nobody"[^>]*aria-describedby="email-fault" aria-invalid="true"/,
    );
    expect(html).toMatch(
      /<input type="text" id="name"[^>]*aria-describedby="name-hint name-fault" aria-invalid="true"/,
    );
    expect(html).toContain('<p class="fault" id="name-fault">Name is required.</p>');
    expect(html).toContain('Password must have 8 to 1024 characters.');
    expect(html).not.toContain('secret1');
    expect(html).toContain(`name="invitation_token" value="${TOKEN}"`);
  });

  test.each<[number, AppError, string]>([
    [401, new AppError('UNAUTHENTICATED', 'invalid_credentials', 'The password is wrong.'), 'The password is wrong.'],
    [403, new AppError('PERMISSION_DENIED', 'sign_up_closed', 'Closed.'), 'Closed.'],
    [404, new AppError('NOT_FOUND', 'expired_link', 'The link has expired.'), 'The link has expired.'],
    [409, new AppError('ALREADY_EXISTS', 'already_exists', 'There is one.'), 'There is one.'],
    [429, new AppError('RESOURCE_EXHAUSTED', 'rate_limited', 'Wait.', { retryAfter: 600 }), 'Try again in 10 minutes.'],
  ])('shows a refusal with status %i', async (status, error, text) => {
    stage.identity.failures.set('signIn', error);
    const answer = await stage.form('/auth/sign-in', { email: ADA.email, password: 'secret1', next: '/docs/errors' });
    const html = await answer.text();
    expect(answer.status).toBe(status);
    expect(html).toContain(text);
    expect(html).toContain('name="next" value="/docs/errors"');
    expect(html).not.toContain('secret1');
    expect(answer.headers.get('retry-after')).toBe(status === 429 ? '600' : null);
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
  });

  test('reveals nothing about an internal failure, which is logged', async () => {
    stage.identity.failures.set('signIn', new Error('secret detail'));
    const answer = await stage.form('/auth/sign-in', { email: ADA.email, password: 'x' });
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('secret detail');
    expect(stage.logged).toEqual(['http.failed']);
  });

  test('is refused from a page of another site', async () => {
    const fields = { email: ADA.email, password: ADA.password };
    const answer = await stage.form('/auth/sign-in', fields, { Origin: 'https://evil.example' });
    expect([answer.status, cookieIn(answer)]).toEqual([403, undefined]);
    expect(await answer.text()).toContain('comes from a page of another address than http://127.0.0.1:8080.');
  });

  test('shows what could not be set up after signing up', async () => {
    stage.identity.warnings = [{ code: 'sign_up_unsettled', message: 'Open the <invitation> again.' }];
    const fields = { name: 'Eve', email: 'eve@example.com', password: 'correct horse' };
    const answer = await stage.form('/auth/sign-up', fields);
    stage.identity.warnings = undefined;
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('Open the &lt;invitation> again.');
    expect(cookieIn(answer)?.header).toMatch(/^session=\w+$/);
  });
});

describe('signing out by page', () => {
  test('needs the token of the form', async () => {
    const { cookie, csrf, session } = await signedIn(stage);
    const refused = await stage.form('/auth/sign-out', { csrf: 'another' }, { cookie });
    expect([refused.status, stage.identity.sessions.has(session)]).toEqual([403, true]);
    const answer = await stage.form('/auth/sign-out', { csrf }, { cookie });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/auth/sign-in']);
    expect(cookieIn(answer)?.attributes).toContain('Max-Age=0');
    expect(stage.identity.sessions.has(session)).toBe(false);
  });

  test('succeeds a second time', async () => {
    const answer = await stage.form('/auth/sign-out', { csrf: 'x' }, { cookie: 'session=dead' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/auth/sign-in']);
  });
});

describe('an invitation for a signed-in person', () => {
  test('is accepted by a button', async () => {
    const { cookie, csrf } = await signedIn(stage);
    const html = await htmlOf(`/auth/sign-up?invite=${TOKEN}`, { cookie });
    expect(html).toContain('action="/auth/accept-invitation"');
    expect(html).toContain(`name="token" value="${TOKEN}"`);
    expect(html).toContain(`name="next" value="/auth/sign-up?invite=${TOKEN}"`);
    const answer = await stage.form('/auth/accept-invitation', { csrf, token: TOKEN }, { cookie });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/docs']);
  });

  test('that is used up leads to a page that says so', async () => {
    const { cookie, csrf } = await signedIn(stage);
    const answer = await stage.form('/auth/accept-invitation', { csrf, token: 'old' }, { cookie });
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain('The invitation is used up.');
  });
});

describe('safeNext', () => {
  const safe = (next: string) => safeNext(next, 'https://wiki.example.com');

  test.each(['/docs', '/auth/sign-up?invite=a%20b', '/a?b=//c#d'])('accepts %s', (next) => {
    expect(safe(next)).toBe(next);
  });

  test.each([
    '',
    'docs',
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '\\\\evil.example',
    'javascript:alert(1)',
    `/${'a'.repeat(3000)}`,
  ])('replaces %j by the home page', (next) => {
    expect(safe(next)).toBe('/docs');
  });

  test('lets no line break into a header', () => {
    expect(safe('/docs\r\nSet-Cookie: a=b')).not.toMatch(/[\r\n]/);
  });
});
