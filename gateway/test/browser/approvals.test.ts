import { barriersOf, CHROMIUM, hasBrowser } from '@commonplace/kit/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { addApproval, HOSTILE, QUESTION } from '../approvals.js';
import { ADA, type AuthStage, openAuthStage } from '../auth-stage.js';
import { freePort, openBrowser, PHONE } from './chromium.js';

const inBrowser = hasBrowser ? describe : describe.skip;

inBrowser(`approvals in a browser (skipped without ${CHROMIUM})`, () => {
  let stage: AuthStage;
  let browser: Browser;
  let context: BrowserContext | undefined;
  let page: Page;
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
    stage.decisions.length = 0;
  });
  afterEach(async () => {
    await context?.close();
    expect(trouble).toEqual([]);
  });

  /** Opens a page as a person who follows a link of a notification, through the sign-in. */
  const open = async (path: string, options: Parameters<Browser['newContext']>[0] = {}) => {
    context = await browser.newContext({ baseURL: stage.baseUrl, ...options });
    page = await context.newPage();
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== stage.baseUrl) trouble.push(request.url());
    });
    page.on('dialog', (dialog) => trouble.push(dialog.message()));
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) trouble.push(message.text());
    });
    await page.goto(path);
    await page.getByLabel('E-mail address').fill(ADA.email);
    await page.getByLabel('Password').fill(ADA.password);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${path}`);
  };

  /** Presses Tab until an element has the focus, as a person without a mouse does. */
  const tabTo = async (name: string) => {
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press('Tab');
      const text = await page.evaluate('document.activeElement.textContent || document.activeElement.name');
      if (text === name || (await page.evaluate('document.activeElement.name')) === name) return;
    }
    throw new Error(`Tab does not reach ${name}`);
  };

  test('is edited and approved by keyboard alone, without scripts', async () => {
    await open(addApproval(stage), { javaScriptEnabled: false });
    await tabTo('Look at the input, or edit it');
    await page.keyboard.press('Enter');
    await tabTo('input');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('{"resource_id": "b"}');
    await tabTo('comment');
    await page.keyboard.type('Only this one.');
    await tabTo('Approve');
    await page.keyboard.press('Enter');
    await page.getByText('This was approved by').waitFor();
    expect(stage.decisions[0]?.editedInput.toString()).toBe('{"resource_id":"b"}');
    expect(stage.decisions[0]?.comment).toBe('Only this one.');
  });

  test('is denied although a field of the answer is required', async () => {
    await open(addApproval(stage, QUESTION), { javaScriptEnabled: false });
    await page.getByRole('button', { name: 'Answer' }).click();
    expect(stage.decisions).toEqual([]);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('This was denied by').waitFor();
  });

  test('runs nothing that a call contains', async () => {
    const texts = { text: `+${HOSTILE}`, targets: [HOSTILE], recipients: [HOSTILE], hosts: [HOSTILE] };
    await open(addApproval(stage, { title: HOSTILE, preview: texts, tainted: true }));
    expect(await page.locator('h1').textContent()).toBe(HOSTILE);
    expect(await page.locator('main img').count()).toBe(0);
  });

  describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
    test.each([
      ['a call', {}],
      ['a question', QUESTION],
      ['a tainted call', { tainted: true, taintSources: [{ type: 'web', id: 'https://a.example', name: 'A page' }] }],
    ])('%s is accessible and fits a phone', async (_, fields) => {
      await open(addApproval(stage, fields), { colorScheme, viewport: PHONE });
      for (const details of await page.locator('details').all())
        await details.evaluate('(one) => { one.open = true; }');
      expect(await barriersOf(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
    });
  });
});
