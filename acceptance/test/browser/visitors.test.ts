import { barriersOf, CHROMIUM, hasBrowser } from '@commonplace/kit/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { eventually } from '../../src/eventually.js';
import { type FormAnswer, newForm, tableOf } from '../../src/forms.js';
import { type Person, signIn } from '../../src/people.js';
import type { Org, Resource, Workspace } from '../../src/records.js';
import { standingSystem } from '../../src/standing.js';
import type { System } from '../../src/system.js';
import { openBrowser, openVisitor, type Visitor } from '../../src/visitor.js';

const inBrowser = hasBrowser ? describe : describe.skip;
const PHONE = { width: 390, height: 844 };
/** A picture of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

inBrowser(`visitors without an account (skipped without ${CHROMIUM})`, () => {
  let system: System;
  let by: Person;
  let workspace: Workspace;
  let browser: Browser;
  let visitor: Visitor | undefined;

  beforeAll(async () => {
    system = await standingSystem();
    by = await signIn(system, system.owner);
    const org = (await by.post<Org>('/orgs', { name: 'Publishers' })).data;
    workspace = (await by.post<Workspace>('/workspaces', { name: 'Published', org_id: org.id })).data;
    browser = await openBrowser();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
  });
  afterEach(async () => {
    const trouble = visitor?.trouble ?? [];
    await visitor?.close();
    visitor = undefined;
    expect(trouble).toEqual([]);
  });

  const visit = async (options: BrowserContextOptions = {}): Promise<Page> => {
    visitor = await openVisitor(browser, { baseURL: system.baseUrl, ...options });
    return visitor.page;
  };
  const create = async (fields: object) =>
    (await by.post<Resource>('/resources', { workspace_id: workspace.id, ...fields })).data;

  /** A handbook with a picture, links, a page below it, a table, an artifact and a folder. */
  async function publishHandbook(slug: string, more: object = {}): Promise<Resource> {
    const handbook = await create({ type: 'document', name: 'Handbook' });
    const picture = { name: 'plan.png', parent_id: handbook.id, content_type: 'image/png', content_base64: PIXEL };
    const file = (await by.post<{ resource: Resource }>('/files', picture)).data.resource;
    const below = { parent_id: handbook.id };
    const first = await create({ ...below, type: 'document', name: 'First steps', content: 'Ask for your keys.' });
    const secret = await create({ type: 'document', name: 'Not published', content: 'Secret' });
    await create({ ...below, type: 'folder', name: 'Shelf' });
    const table = `| Word | Wide |\n|---|---|\n| ${'w'.repeat(200)} | x |`;
    await create({
      ...below,
      type: 'artifact',
      name: LONG_NAME,
      content: { artifact_type: 'markdown', source: `# ${LONG_NAME}\n\n${table}\n\n${table}` },
    });
    await create({
      ...below,
      type: 'artifact',
      name: 'Dial',
      content: { artifact_type: 'html', source: '<h2>Dial</h2>' },
    });
    const rows = Array.from({ length: 150 }, (_, i) => ({ name: `Rope ${i + 1}` }));
    await create({
      ...below,
      type: 'table',
      name: 'Prices',
      columns: [{ id: 'name', name: 'Name', type: 'text' }],
      rows,
    });
    const content = [
      '# Welcome',
      `Start with [the first steps](resource:${first.id}), not with [the secret](resource:${secret.id}).`,
      `![The plan](resource:${file.id})`,
      '![Far away](https://elsewhere.example/a.png)',
      '## What to bring\n\n- [x] A rope\n- [ ] A tent',
      '## What to leave\n\n| Thing | Why |\n|---|---|\n| Fear | heavy |',
      '> [!WARNING]\n> Never go alone.',
      '> [!TIP]\n> Go with *friends*.',
      '| Friend | Phone |\n|---|---|\n| Ada | 1 |',
      '```sh\nnpm start\n```',
      'Some <script>alert(1)</script> text and <img src=x onerror=alert(1)>.',
    ].join('\n\n');
    await by.patch(`/resources/${handbook.id}/content`, { content });
    await by.post(`/resources/${handbook.id}/publish`, { slug, visibility: 'public', allow_indexing: true, ...more });
    return handbook;
  }

  test('read a published document with its pictures and links, on a phone, without scripts', async () => {
    await publishHandbook('handbook');
    const page = await visit({ javaScriptEnabled: false, viewport: PHONE, colorScheme: 'dark' });
    await page.goto('/p/handbook');
    expect(await page.getByRole('heading', { level: 1 }).first().textContent()).toMatch(/Handbook|Welcome/);
    expect(await page.locator('.prose a', { hasText: 'the secret' }).count()).toBe(0);
    expect(await page.locator('.prose').textContent()).toContain('not with the secret');
    await page.getByRole('img', { name: 'The plan' }).scrollIntoViewIfNeeded();
    expect(await page.evaluate('document.querySelector("img[alt=\'The plan\']").naturalWidth')).toBe(1);
    expect(await page.getByRole('link', { name: 'Far away' }).getAttribute('href')).toBe(
      'https://elsewhere.example/a.png',
    );
    await page.locator('.toc').getByRole('link', { name: 'What to leave' }).click();
    expect(new URL(page.url()).hash).not.toBe('');
    await page.locator('.prose').getByRole('link', { name: 'the first steps' }).click();
    expect(await page.locator('main').textContent()).toContain('Ask for your keys.');
    await page.getByLabel('Pages of this publication').getByRole('link', { name: 'Prices' }).click();
    expect(await page.locator('main').textContent()).toContain('Rows 1 to 100 of 150');
    await page.getByRole('link', { name: 'Next rows' }).click();
    expect(await page.locator('main').textContent()).toContain('Rope 150');
    await page.getByLabel('Search this publication').fill('keys');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.locator('main').getByRole('link', { name: 'First steps' }).click();
    expect(await page.locator('main').textContent()).toContain('Ask for your keys.');
    expect(visitor?.answers.filter(({ status }) => status >= 400)).toEqual([]);
  }, 120_000);

  test('find accessible pages, in both themes', async () => {
    await publishHandbook('barriers');
    const { form } = await newForm(by, workspace.id, {
      title: 'Apply',
      description: 'Tell **us**.',
      fields: EVERY_FIELD,
    });
    await publishHandbook('locked', { visibility: 'password', password: 'open sesame' });
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const viewport of [PHONE, { width: 1280, height: 800 }]) {
        const page = await visit({ colorScheme, viewport });
        await page.goto('/p/barriers');
        const names = ['First steps', 'Shelf', 'Dial', 'Prices', LONG_NAME];
        const paths = names.map((name) => page.locator('.pages').getByRole('link', { name }).getAttribute('href'));
        const all = [
          '/p/barriers',
          ...(await Promise.all(paths)),
          '/p/barriers?q=keys',
          '/p/nothing',
          '/p/locked',
          `/f/${form.token}`,
        ];
        for (const path of all) {
          await page.goto(path ?? '');
          expect([path, await barriersOf(page)]).toEqual([path, []]);
          expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, viewport.width]);
        }
        expect(visitor?.trouble).toEqual([]);
        await visitor?.close();
      }
    }
  }, 300_000);

  test('read each paragraph from the side on which its letters begin', async () => {
    const hebrew = 'שלום לכולם (hello) וברוכים הבאים.';
    const arabic = await create({ type: 'document', name: 'Arabic', content: `مرحبا\n\n- واحد\n\nIn English.` });
    const mixed = await create({ type: 'document', name: 'Mixed', content: `In English.\n\n${hebrew}` });
    for (const [resource, slug] of [
      [arabic, 'arabic'],
      [mixed, 'mixed'],
    ] as const)
      await by.post(`/resources/${resource.id}/publish`, { slug, visibility: 'public' });
    const page = await visit();
    const touches = (text: string) =>
      page.evaluate(`(() => {
        const paragraph = [...document.querySelectorAll('.prose p')].find((p) => p.textContent.includes('${text}'));
        const range = document.createRange();
        range.selectNodeContents(paragraph);
        const [words, whole] = [range.getBoundingClientRect(), paragraph.getBoundingClientRect()];
        return { left: Math.abs(words.left - whole.left) < 1, right: Math.abs(words.right - whole.right) < 1 };
      })()`);
    await page.goto('/p/arabic');
    expect(await page.evaluate('getComputedStyle(document.querySelector(".prose")).direction')).toBe('rtl');
    expect(await touches('مرحبا')).toEqual({ left: false, right: true });
    expect(await touches('In English.')).toEqual({ left: true, right: false });
    await page.goto('/p/mixed');
    expect(await touches('In English.')).toEqual({ left: true, right: false });
    expect(await touches('שלום')).toEqual({ left: false, right: true });
  }, 120_000);

  test('open a publication with a password, and nothing once it is unpublished', async () => {
    const handbook = await publishHandbook('closed', { visibility: 'password', password: 'open sesame' });
    const page = await visit({ javaScriptEnabled: false });
    await page.goto('/p/closed');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Open' }).click();
    expect(await page.getByRole('alert').textContent()).toBe('That is not the password.');
    expect(await page.content()).not.toContain('keys');
    await page.getByLabel('Password').fill('open sesame');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByLabel('Pages of this publication').getByRole('link', { name: 'First steps' }).click();
    expect(await page.locator('main').textContent()).toContain('Ask for your keys.');
    await by.del(`/resources/${handbook.id}/publish`);
    await eventually(async () => expect((await page.reload())?.status()).toBe(404));
  }, 120_000);

  test.each([true, false])(
    'fill in a form, see the errors, and send it (scripts: %s)',
    async (javaScriptEnabled) => {
      const fields = EVERY_FIELD.filter(({ type }) => type !== 'file');
      const { form } = await newForm(by, workspace.id, { title: 'Apply', fields, success_message: 'Welcome aboard.' });
      const page = await visit({ javaScriptEnabled, viewport: PHONE });
      await page.goto(form.public_url ?? '');
      const licence = page.getByLabel('Licence');
      expect(await licence.isVisible()).toBe(!javaScriptEnabled);
      await page.getByLabel('Role').selectOption('guide');
      expect(await licence.isVisible()).toBe(true);
      await page.getByLabel('E-mail').fill('nobody');
      await page.getByLabel('Rope').check();
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('alert').waitFor();
      const wrong = await page.getByRole('alert').textContent();
      for (const label of ['Your name', 'E-mail', 'Licence', 'I know the risks']) expect(wrong).toContain(label);
      expect(await page.getByLabel('E-mail').inputValue()).toBe('nobody');
      expect(await page.getByLabel('Rope').isChecked()).toBe(true);
      expect(await page.locator('#f-mail-fault').isVisible()).toBe(true);
      expect((await tableOf(by, form.resource_id)).row_count).toBe(0);

      await page.getByLabel('Your name').fill('Ada');
      await page.getByLabel('E-mail').fill('ada@example.com');
      await licence.fill('L-7');
      await page.getByLabel('I know the risks').check();
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('Welcome aboard.').waitFor();
      const { rows, columns, row_count: count } = await tableOf(by, form.resource_id);
      expect(count).toBe(1);
      const cells = Object.fromEntries(columns.map(({ id, name }) => [name, rows[0]?.cells[id]]));
      expect(cells).toMatchObject({
        'Your name': 'Ada',
        'E-mail': 'ada@example.com',
        Licence: 'L-7',
        'I know the risks': true,
      });
      // A reload sends it again, which adds no second row.
      await page.reload();
      expect((await tableOf(by, form.resource_id)).row_count).toBe(1);
      expect(await system.said()).not.toContain(form.token);
    },
    120_000,
  );

  test('answer what depends on other answers, and give times of both halves of the year', async () => {
    const fields = [
      { id: 'winter', type: 'datetime', label: 'Winter' },
      { id: 'summer', type: 'datetime', label: 'Summer' },
      { id: 'news', type: 'checkbox', label: 'News', default: true },
      {
        id: 'why',
        type: 'short_text',
        label: 'Why not?',
        required: true,
        visible_if: { field_id: 'news', op: 'eq', value: false },
      },
      { id: 'source', type: 'hidden', label: 'Source', default: 'site' },
      {
        id: 'page',
        type: 'short_text',
        label: 'Which page?',
        required: true,
        visible_if: { field_id: 'source', op: 'eq', value: 'site' },
      },
    ];
    const { form } = await newForm(by, workspace.id, { title: 'Call me', fields });
    const page = await visit({ timezoneId: 'Europe/Berlin' });
    await page.goto(form.public_url ?? '');
    await page.getByLabel('Winter').fill('2026-01-15T09:30');
    await page.getByLabel('Summer').fill('2026-07-15T09:30');
    expect(await page.getByLabel('Why not?').isVisible()).toBe(false);
    await page.getByLabel('News').uncheck();
    await page.getByLabel('Which page?').fill('Prices');
    await page.getByRole('button', { name: 'Send' }).click();
    expect(await page.getByRole('alert').getByRole('listitem').allTextContents()).toEqual(['Why not? is required.']);
    expect(await page.getByLabel('News').isChecked()).toBe(false);
    await page.getByLabel('Why not?').fill('Enough mail');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Thank you.').waitFor();
    const { rows, columns } = await tableOf(by, form.resource_id);
    const cells = Object.fromEntries(columns.map(({ id, name }) => [name, rows[0]?.cells[id] ?? null]));
    expect(cells).toMatchObject({
      Winter: '2026-01-15T08:30:00.000Z',
      Summer: '2026-07-15T07:30:00.000Z',
      News: null,
      'Why not?': 'Enough mail',
      'Which page?': 'Prices',
    });
  }, 120_000);

  test('upload a file, and solve the captcha', async () => {
    const fields = [
      { id: 'photo', type: 'file', label: 'A photo', max_files: 1, required: true },
      { id: 'sign', type: 'signature', label: 'Signature', required: true },
    ];
    const { form } = await newForm(by, workspace.id, { title: 'Photos', fields, require_captcha: true });
    const page = await visit();
    await page.goto(form.public_url ?? '');
    await page
      .getByLabel('A photo')
      .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') });
    await page.getByLabel('Signature').fill('Ada');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Thank you.').waitFor({ timeout: 60_000 });
    expect((await tableOf(by, form.resource_id)).row_count).toBe(1);
  }, 120_000);

  test.each([true, false])(
    'keep what they entered beside files that are too large (scripts %s)',
    async (javaScriptEnabled) => {
      const fields = [
        { id: 'name', type: 'short_text', label: 'Your name' },
        { id: 'photo', type: 'file', label: 'A photo' },
      ];
      const { form } = await newForm(by, workspace.id, { title: 'Large', fields });
      const page = await visit({ javaScriptEnabled });
      await page.goto(form.public_url ?? '');
      await page.getByLabel('Your name').fill('Ada');
      const buffer = Buffer.alloc(11 * 1024 * 1024);
      await page.getByLabel('A photo').setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer });
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('The files are too large: at most 10 MiB all together.').waitFor();
      expect(await page.getByLabel('Your name').inputValue()).toBe('Ada');
      expect(await page.getByLabel('A photo').inputValue()).toContain(javaScriptEnabled ? 'me.png' : '');
      await page.getByLabel('A photo').setInputFiles([]);
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('Thank you.').waitFor();
      expect((await tableOf(by, form.resource_id)).row_count).toBe(1);
    },
    120_000,
  );

  test('see that a form is closed, or does not exist', async () => {
    const { form }: FormAnswer = await newForm(by, workspace.id, { title: 'Closed', fields: [EVERY_FIELD[0]] });
    await by.patch(`/resources/${form.resource_id}/form`, { is_active: false });
    const page = await visit();
    await page.goto(form.public_url ?? '');
    expect(await page.locator('main').textContent()).toContain('takes no answers');
    expect((await page.goto(`/f/${'x'.repeat(32)}`))?.status()).toBe(404);
  });
});

/** A name without a place to break it. */
const LONG_NAME = 'Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz'.repeat(3);

const options = ['Cook', 'Doctor', 'Guide'].map((label) => ({
  id: label.toLowerCase(),
  label,
  value: label.toLowerCase(),
}));
const sizes = ['S', 'M'].map((label) => ({ id: label.toLowerCase(), label, value: label.toLowerCase() }));
const gear = ['Rope', 'Tent'].map((label) => ({ id: label.toLowerCase(), label, value: label.toLowerCase() }));

const EVERY_FIELD = [
  { id: 'name', type: 'short_text', label: 'Your name', required: true },
  { id: 'intro', type: 'statement', label: 'Before you begin', help_text: 'It takes five minutes.' },
  { id: 'mail', type: 'email', label: 'E-mail', required: true },
  { id: 'phone', type: 'phone', label: 'Phone' },
  { id: 'site', type: 'url', label: 'Site' },
  { id: 'why', type: 'long_text', label: 'Why?', help_text: 'A few sentences.' },
  { id: 'age', type: 'number', label: 'Age' },
  { id: 'budget', type: 'currency', label: 'Budget' },
  { id: 'from', type: 'date', label: 'From' },
  { id: 'call', type: 'datetime', label: 'Call' },
  { id: 'role', type: 'dropdown', label: 'Role', options },
  {
    id: 'licence',
    type: 'short_text',
    label: 'Licence',
    required: true,
    visible_if: { field_id: 'role', op: 'in', value: ['doctor', 'guide'] },
  },
  { id: 'size', type: 'single_choice', label: 'Size', options: sizes },
  { id: 'gear', type: 'multi_choice', label: 'Gear', options: gear },
  { id: 'word', type: 'single_choice', label: LONG_NAME, options: [{ id: 'w', label: LONG_NAME, value: 'w' }] },
  { id: 'fit', type: 'rating', label: 'Fit' },
  { id: 'sure', type: 'scale', label: 'Sure' },
  { id: 'photo', type: 'file', label: 'Photo' },
  { id: 'sign', type: 'signature', label: 'Signature' },
  { id: 'source', type: 'hidden', label: 'Source' },
  { id: 'consent', type: 'checkbox', label: 'I know the risks', required: true },
];
