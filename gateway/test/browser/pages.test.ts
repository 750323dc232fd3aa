import { barriersOf, CHROMIUM, hasBrowser } from '@commonplace/kit/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { ADA, type AuthStage, openAuthStage, TOKEN } from '../auth-stage.js';
import { freePort, openBrowser, PHONE } from './chromium.js';

const DOC_PAGES = [
  ...['/docs', '/docs/guides', '/docs/topics/automations', '/docs/errors', '/docs/changelog'],
  ...['/docs/api', '/docs/api/resource', '/docs/explorer'],
];

const ACCOUNT_PAGES = [
  ...['/auth/sign-in', '/auth/sign-up', '/auth/forgot-password', '/auth/reset-password?token=a', '/auth/verify-email'],
  ...['/auth/no-such-page', '/auth/connectors/callback'],
];

const inBrowser = hasBrowser ? describe : describe.skip;

inBrowser(`in a browser (skipped without ${CHROMIUM})`, () => {
  let stage: AuthStage;
  let browser: Browser;
  let context: BrowserContext | undefined;
  let page: Page;
  /** Requests of a page to other hosts, and violations of its policy. */
  const trouble: string[] = [];

  beforeAll(async () => {
    const port = await freePort();
    stage = await openAuthStage(`http://127.0.0.1:${port}`, port);
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });
  beforeEach(() => {
    trouble.length = 0;
    stage.identity.calls.length = 0;
  });
  afterEach(async () => {
    await context?.close();
    expect(trouble).toEqual([]);
  });

  const open = async (options: Parameters<Browser['newContext']>[0] = {}) => {
    context = await browser.newContext({ baseURL: stage.baseUrl, ...options });
    page = await context.newPage();
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol !== 'data:' && url.origin !== stage.baseUrl) trouble.push(request.url());
    });
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) trouble.push(message.text());
    });
    page.on('pageerror', (error) => trouble.push(error.message));
  };

  const signIn = async () => {
    await page.getByLabel('E-mail address').fill(ADA.email);
    await page.getByLabel('Password').fill(ADA.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };

  test('signs up, in, through an invitation and out, without scripts', async () => {
    await open({ javaScriptEnabled: false, viewport: PHONE });
    await page.goto('/auth/sign-up');
    await page.getByLabel('Name').fill('Bob');
    await page.getByLabel('E-mail address').fill(ADA.email);
    await page.getByLabel('Password').fill('correct horse');
    await page.getByRole('button', { name: 'Sign up' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('An account with this address exists.');
    expect(await page.getByLabel('Name').inputValue()).toBe('Bob');

    await page.goto(`/auth/sign-up?invite=${TOKEN}`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await signIn();
    await page.getByRole('button', { name: 'Accept the invitation' }).click();
    await page.waitForURL('**/docs');
    expect(stage.identity.calls.findLast(({ rpc }) => rpc === 'acceptInvitation')).toBeDefined();

    await page.getByRole('link', { name: 'Account', exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Sign in');
    expect(await context?.cookies()).toEqual([]);
  });

  test('focuses the invalid field', async () => {
    await open();
    await page.goto('/auth/sign-in');
    await page.getByLabel('E-mail address').fill(ADA.email);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.evaluate('document.activeElement.getAttribute("role")')).toBe('alert');
  });

  test.each([...DOC_PAGES, ...ACCOUNT_PAGES])('%s fits a phone', async (path) => {
    await open({ viewport: PHONE, colorScheme: 'dark' });
    await page.goto(path, { waitUntil: 'networkidle' });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).not.toBe('rgb(255, 255, 255)');
  });

  test.each(['/docs', '/docs/guides', '/docs/api', '/docs/api/org', '/docs/topics/chat', ...ACCOUNT_PAGES])(
    '%s is accessible in both themes',
    async (path) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await open({ colorScheme });
        await page.goto(path);
        expect(await barriersOf(page)).toEqual([]);
        await context?.close();
      }
    },
  );

  /** Tries an endpoint out on the API explorer's page. Returns the headers sent and the status. */
  const tryOut = async (tag: string, path: string, method: string) => {
    const row = page.locator(`.opblock-${method}`).filter({ has: page.locator(`[data-path="${path}"]`) });
    if ((await row.count()) === 0) await page.locator(`[id="operations-tag-${tag}"]`).click();
    await row.locator('.opblock-summary-control').click();
    await row.locator('.try-out__btn').click();
    const sent = page.waitForRequest((request) => request.url() === stage.baseUrl + path);
    await row.locator('.execute').click();
    const request = await sent;
    const response = await request.response();
    return { headers: await request.allHeaders(), body: request.postData(), status: response?.status() };
  };

  test('sends the examples with ids of the person who tries them out', async () => {
    await open();
    const [workspace, document] = ['0198c0de-0000-7000-8000-000000000001', '0198c0de-0000-7000-8000-000000000002'];
    const answer = (id: string) => ({ json: { data: { items: [{ id }] }, request_id: 'req_a' } });
    await page.route('**/api/v1/workspaces?limit=1', (route) => route.fulfill(answer(workspace)));
    await page.route(`**/api/v1/workspaces/${workspace}/resources?*`, (route) => route.fulfill(answer(document)));
    await page.goto('/docs/explorer');
    const { body } = await tryOut('Resource', '/api/v1/resources', 'post');
    expect(JSON.parse(body ?? '{}')).toMatchObject({ type: 'document', workspace_id: workspace });
  });

  test('tries out endpoints with a key and without the session', async () => {
    await open();
    await page.goto('/auth/sign-in');
    await signIn();
    await page.waitForURL('**/docs');
    await page.goto('/docs/explorer');
    await page.getByRole('button', { name: 'Authorize' }).click();
    await page.getByLabel('auth-bearer-value').fill('wsk_test');
    await page.getByRole('button', { name: 'Apply credentials' }).click();
    await page.getByRole('button', { name: 'Close' }).first().click();
    const { headers, status } = await tryOut('Account', '/api/v1/me', 'get');
    expect(headers).toMatchObject({ authorization: 'Bearer wsk_test' });
    expect(headers).not.toHaveProperty('cookie');
    expect(status).toBe(200);
  });

  test('tries out endpoints with the session and its token', async () => {
    await open();
    await page.goto('/auth/sign-in');
    await signIn();
    await page.waitForURL('**/docs');
    await page.goto('/docs/explorer');
    await page.locator('.opblock-tag').first().waitFor();
    const { headers, status } = await tryOut('Org', '/api/v1/orgs', 'post');
    expect(headers['x-csrf-token']).toMatch(/^csrf-of-/);
    expect(headers.cookie).toMatch(/^session=/);
    expect(status).toBe(201);
  });
});
