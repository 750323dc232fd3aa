import { CHROMIUM, hasBrowser } from '@commonplace/kit/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { newAddress, PASSWORD, signUp } from '../../src/people.js';
import { freePort, type OwnSystem, startSystem } from '../../src/system.js';
import { openBrowser } from '../../src/visitor.js';

const inBrowser = hasBrowser ? describe : describe.skip;

inBrowser(`passkeys in a browser (skipped without ${CHROMIUM})`, () => {
  let system: OwnSystem;
  let browser: Browser;
  let origin: string;
  beforeAll(async () => {
    const port = await freePort();
    origin = `http://localhost:${port}`;
    const place = { COMMONPLACE_PORT: String(port), COMMONPLACE_PUBLIC_URL: origin };
    system = await startSystem({ ...place, COMMONPLACE_SIGN_UP: 'open' });
    browser = await openBrowser();
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await system?.stop();
  });

  test('a passkey is added on the account page and used on the sign-in page', async () => {
    const { user } = await signUp(system, 'Ada', { email: newAddress('ada') });
    const context = await browser.newContext({ baseURL: origin });
    const page = await context.newPage();
    const trouble: string[] = [];
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) trouble.push(message.text());
    });
    page.on('pageerror', (error) => trouble.push(error.message));
    const devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    await page.goto('/auth/sign-in?next=/auth/account');
    await page.getByLabel('E-mail address').fill(user.email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('Name of the passkey').fill('Laptop');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('The passkey was added.').waitFor();
    await page.getByRole('cell', { name: 'Laptop', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto('/auth/sign-in?next=/auth/account');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
    expect(await page.locator('#person + p').textContent()).toContain(user.email);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The passkey was removed.').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto('/auth/sign-in');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('The passkey is not valid here').waitFor();
    expect(trouble).toEqual([]);
    await context.close();
  }, 120_000);
});
