// Takes the screenshots for the docs: each page in light and dark, on a desktop and on a phone.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Fault } from '@commonplace/kit/errors';
import { FormPageState } from '@commonplace/proto/resources/v1/form_page_service.js';
import type { Page } from 'playwright-core';
import { FORM } from '../pages/fixture.js';
import { openPagesStage, type PagesStage, TOKEN } from '../pages/stage.js';
import { DESKTOP, freePort, openBrowser, PHONE } from './chromium.js';

/** Folder in the project's root, four folders above the compiled file's. */
const FOLDER = fileURLToPath(new URL('../../../../docs/pictures/', import.meta.url));

interface Picture {
  readonly name: string;
  readonly path: string;
  /** Whether to take the whole page instead of the visible part. */
  readonly whole?: boolean;
  /** Prepares the server and, below, the page for the picture. */
  before?(stage: PagesStage): void;
  act?(page: Page): Promise<void>;
}

const FAULTS: Fault[] = [
  { param: 'values.mail', code: 'missing_field', message: 'E-mail is required.' },
  { param: 'values.consent', code: 'missing_field', message: 'I know the risks. is required.' },
];

const PICTURES: readonly Picture[] = [
  { name: 'document', path: '/p/handbook', whole: true },
  { name: 'table', path: '/p/handbook/prices?offset=100' },
  { name: 'artifact', path: '/p/handbook/dial' },
  { name: 'folder', path: '/p/handbook/reference' },
  { name: 'file', path: '/p/handbook/plan' },
  { name: 'search', path: '/p/handbook?q=list' },
  { name: 'password', path: '/p/handbook', before: ({ state }) => Object.assign(state, { locked: true }) },
  { name: 'missing', path: '/p/handbook', before: ({ state }) => Object.assign(state, { missing: true, gone: true }) },
  { name: 'form', path: `/f/${TOKEN}`, whole: true },
  {
    name: 'form-refused',
    path: `/f/${TOKEN}`,
    before: ({ state }) => Object.assign(state, { faults: FAULTS }),
    act: async (page) => {
      await page.getByLabel('Your name').fill('Ada Lovelace');
      await page.getByRole('button', { name: 'Send application' }).click();
      await page.getByRole('alert').waitFor();
    },
  },
  {
    name: 'form-closed',
    path: `/f/${TOKEN}`,
    before: ({ state }) => Object.assign(state, { form: { ...FORM, state: FormPageState.CLOSED, fields: [] } }),
  },
  {
    name: 'form-sent',
    path: `/f/${TOKEN}`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Send application' }).click();
      await page.getByText('Welcome aboard').waitFor();
    },
  },
];

const port = await freePort();
const publicUrl = `http://localhost:${port}`;
const stage = await openPagesStage({ port, publicUrl, contentUrl: `http://127.0.0.1:${port}` });
const browser = await openBrowser();
const before = { ...stage.state };
mkdirSync(FOLDER, { recursive: true });
for (const picture of PICTURES) {
  Object.assign(stage.state, before, { revision: picture.name });
  picture.before?.(stage);
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [width, viewport] of Object.entries({ desk: DESKTOP, phone: PHONE })) {
      const context = await browser.newContext({ baseURL: publicUrl, colorScheme, viewport });
      const page = await context.newPage();
      await page.goto(picture.path, { waitUntil: 'networkidle' });
      await picture.act?.(page);
      await page.screenshot({
        path: join(FOLDER, `${picture.name}-${width}-${colorScheme}.png`),
        fullPage: picture.whole,
      });
      await context.close();
    }
  }
  console.log(picture.name);
}
await browser.close();
await stage.close();
