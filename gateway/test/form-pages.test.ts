import { AppError } from '@commonplace/kit/errors';
import { PATIENCE } from '@commonplace/kit/testing/patience';
import { FormPage, FormPageState } from '@commonplace/proto/resources/v1/form_page_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { FORM } from './pages/fixture.js';
import { openPagesStage, type PagesStage, TOKEN } from './pages/stage.js';

const PATH = `/f/${TOKEN}`;
let stage: PagesStage;
let fresh: PagesStage['state'];

beforeAll(async () => {
  stage = await openPagesStage({ publicUrl: 'https://wiki.example.com' });
  fresh = { ...stage.state };
});
afterAll(() => stage?.close());
beforeEach(() => {
  Object.assign(stage.state, fresh);
  stage.submitted.length = 0;
});

const valuesSent = () => JSON.parse(stage.submitted.at(-1)?.values.toString('utf8') ?? '{}') as Record<string, unknown>;
const hidden = (html: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';

describe('the page of a form', () => {
  test('has every field with its label, and sends no referrer', async () => {
    const answer = await stage.get(PATH);
    const html = await answer.text();
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'x-content-type-options': 'nosniff',
    });
    for (const { id, type } of FORM.fields) {
      if (type === 'statement') continue;
      expect(html).toContain(`name="f.${id}"`);
      if (type !== 'hidden') expect(html).toMatch(new RegExp(`for="f-${id}(-0)?"`));
    }
    expect(html).toContain('Tell us <strong>who you are</strong>');
    expect(html).toContain('Only if “Role” is one of “Doctor”, “Guide”.');
    expect(hidden(html, 'f.source')).toBe('site');
  });

  test('runs one script, which its policy allows for this response only', async () => {
    const policies = await Promise.all(
      [stage.get(PATH), stage.get(PATH)].map(async (answer) => {
        const { headers } = await answer;
        return headers.get('content-security-policy') ?? '';
      }),
    );
    const nonces = policies.map((policy) => /script-src 'nonce-([\w-]{22})'(?:;|$)/.exec(policy)?.[1]);
    expect(new Set(nonces).size).toBe(2);
    expect(policies[0]).toMatch(/^default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none';/);
    expect(policies[0]).not.toMatch(/unsafe|\*|http/);
    const html = await (await stage.get(PATH)).text();
    const [script = '', ...others] = html.match(/<script[^>]*>/g) ?? [];
    expect(others).toEqual([]);
    const served = await stage.get(/src="([^"]+)"/.exec(script)?.[1] ?? '');
    expect(served.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
  });

  test('is filled by its link', async () => {
    const html = await (await stage.get(`${PATH}?name=Ada%20%22%3E&gear=rope&gear=tent&nothing=x`)).text();
    expect(html).toContain('value="Ada &quot;>"');
    expect(html.match(/name="f.gear"[^>]*checked/g)).toHaveLength(2);
  });

  test('shows every value as a form does', async () => {
    const { faults } = stage.state;
    expect(faults).toEqual([]);
    const answer = await stage.post(PATH, {
      credential: 'a-credential',
      submission_id: '0190b1f0-0000-7000-8000-000000000001',
      'utc_offset.call': '120',
      'f.name': 'Ada',
      'f.phone': '',
      'f.call': '2026-05-01T09:30',
      'f.gear': 'rope',
      'f.why': 'One.\r\nTwo.',
      'f.fit': '4',
      'f.consent': 'on',
      'f.sign': 'Ada',
      'f.strange': 'x',
    });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('Welcome aboard.');
    expect(valuesSent()).toEqual({
      name: 'Ada',
      why: 'One.\nTwo.',
      call: '2026-05-01T07:30:00.000Z',
      gear: ['rope'],
      fit: '4',
      consent: 'on',
      sign: { name: 'signature.txt', content_base64: Buffer.from('Ada\n').toString('base64') },
      strange: 'x',
    });
    expect(stage.submitted.at(-1)).toMatchObject({
      token: TOKEN,
      credential: 'a-credential',
      submissionId: '0190b1f0-0000-7000-8000-000000000001',
    });
  });

  test('keeps fields empty that have a default', async () => {
    const json = (value: unknown) => Buffer.from(JSON.stringify(value));
    const options = ['Rope', 'Tent'].map((label) => ({ id: label, label, value: label }));
    const fields = [
      { id: 'mail', type: 'email', label: 'E-mail' },
      { id: 'news', type: 'checkbox', label: 'News', default: json(true) },
      { id: 'gear', type: 'multi_choice', label: 'Gear', options, default: json(['Rope']) },
      { id: 'town', type: 'short_text', label: 'Town', default: json('Bern') },
    ];
    stage.state.form = FormPage.fromPartial({ ...FORM, fields });
    expect((await (await stage.get(PATH)).text()).match(/ checked/g)).toHaveLength(2);
    const emptied = { credential: 'c', 'f.mail': '', 'f.town': '' };
    stage.state.faults = [{ param: 'values.mail', code: 'missing_field', message: 'E-mail is required.' }];
    const html = await (await stage.post(PATH, emptied)).text();
    expect(html).not.toMatch(/ checked|Bern/);
    await stage.post(PATH, { ...emptied, 'f.mail': 'ada@example.com' });
    expect(valuesSent()).toEqual({ mail: 'ada@example.com', news: null, gear: null, town: null });
  });

  test('accepts files', async () => {
    const body = new FormData();
    body.set('credential', 'a-credential');
    body.set('f.name', 'Ada');
    body.set('f.photo', new File(['bytes'], 'me.png', { type: 'image/png' }));
    expect((await stage.post(PATH, body)).status).toBe(200);
    expect(valuesSent()).toEqual({
      name: 'Ada',
      photo: { name: 'me.png', content_base64: Buffer.from('bytes').toString('base64') },
    });
    body.set('f.photo', new File([], ''));
    await stage.post(PATH, body);
    expect(valuesSent()).toEqual({ name: 'Ada' });
  });

  test('is shown again with every error next to its field, and the entered values', async () => {
    stage.state.faults = [
      { param: 'values.mail', code: 'missing_field', message: 'E-mail is required.' },
      { param: 'values.gear', code: 'invalid_value', message: 'has no choice.' },
      { param: 'values', code: 'too_many_items', message: 'A submission has at most 10 files.' },
    ];
    const answer = await stage.post(PATH, {
      credential: 'c',
      'f.name': '"><b>',
      'f.why': '</textarea>',
      'f.role': 'cook',
    });
    const html = await answer.text();
    expect(answer.status).toBe(400);
    expect(html).toContain('<title>Error: Join the expedition</title>');
    expect(html).toContain('<p class="fault" id="f-mail-fault">E-mail is required.</p>');
    expect(html).toMatch(/id="f-mail"[^>]*aria-describedby="f-mail-fault"[^>]*aria-invalid="true"/);
    expect(html).toContain('<a href="#f-gear">What do you bring?: Has no choice.</a>');
    expect(html).toContain('A submission has at most 10 files.');
    expect(html).toContain('value="&quot;>&lt;b>"');
    expect(html).toContain('&lt;/textarea></textarea>');
    expect(html).toMatch(/<option[^>]*selected[^>]*>Cook/);
    expect(stage.submitted).toEqual([]);
  });

  test('keeps the entered values if it was open for too long', async () => {
    stage.state.failure = new AppError('UNAUTHENTICATED', 'credential_expired', 'The credential has ended.');
    const answer = await stage.post(PATH, { credential: 'old', 'f.name': 'Ada' });
    const html = await answer.text();
    expect(answer.status).toBe(400);
    expect(html).toContain('The page was open for too long.');
    expect(html).toContain('value="Ada"');
    expect(hidden(html, 'credential')).toBe('a-credential');
  });

  test('keeps the entered values if the files are too large, and answers after all has arrived', async () => {
    const body = new FormData();
    body.set('credential', 'a-credential');
    body.set('f.name', 'Ada');
    body.set('f.photo', new File([new Uint8Array(12 * 1024 * 1024)], 'me.png', { type: 'image/png' }));
    body.set('f.why', 'What comes after the file is lost.');
    const answer = await stage.post(PATH, body);
    const html = await answer.text();
    expect(answer.status).toBe(400);
    expect(html).toContain('<li>The files are too large: at most 10 MiB all together.</li>');
    expect(html).toContain('<li>Choose your files again, because browsers do not keep them.</li>');
    expect(html).toContain('value="Ada"');
    expect(hidden(html, 'credential')).toBe('a-credential');
    expect(stage.submitted).toEqual([]);
    const texts = await stage.post(PATH, { 'f.name': 'Ada', 'f.why': 'x'.repeat(11 * 1024 * 1024) });
    expect([texts.status, await texts.text()]).toEqual([400, expect.stringContaining('value="Ada"')]);
  });

  test('keeps the entered values if the answers cannot be stored', async () => {
    stage.state.failure = new AppError('UNAVAILABLE', 'unavailable', 'Not now.');
    const answer = await stage.post(PATH, { 'f.name': 'Ada' });
    const html = await answer.text();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(html).toContain('Your answers could not be stored now.');
    expect(html).toContain('value="Ada"');
  });

  test('keeps the entered values if there were too many submissions', async () => {
    const limited = await openPagesStage({ rateLimits: 'form=1' });
    try {
      expect((await limited.post(PATH, { 'f.name': 'Ada' })).status).toBe(200);
      const body = new FormData();
      body.set('f.name', 'Bob');
      body.set('f.photo', new File([new Uint8Array(1024 * 1024)], 'me.png'));
      const answer = await limited.post(PATH, body);
      const html = await answer.text();
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
      expect(html).toContain('<h2>This was not sent</h2>');
      expect(html).toContain('value="Bob"');
      expect(html).toContain('Choose your files again');
      expect(limited.submitted).toHaveLength(1);
    } finally {
      await limited.close();
    }
  });

  test('redirects to the target of its form', async () => {
    stage.state.redirectUrl = 'https://example.org/thanks?a=1&b=2';
    const html = await (await stage.post(PATH, { credential: 'c' })).text();
    expect(html).toContain('<meta http-equiv="refresh" content="0;url=https://example.org/thanks?a=1&amp;b=2"/>');
    expect(html).toContain('Continue to example.org');
  });

  test('accepts nothing from another site', async () => {
    const answer = await stage.post(PATH, { 'f.name': 'Ada' }, { 'Sec-Fetch-Site': 'cross-site' });
    expect([answer.status, stage.submitted]).toEqual([403, []]);
  });

  test.each([
    [FormPageState.INACTIVE, 'takes no answers at the moment'],
    [FormPageState.CLOSED, 'is closed'],
    [FormPageState.FULL, 'as many answers as it takes'],
  ])('shows that it is %s', async (state, words) => {
    stage.state.form = { ...FORM, state, fields: [] };
    const answer = await stage.get(PATH);
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining(words)]);
    expect((await stage.post(PATH, { 'f.name': 'Ada' })).status).toBe(409);
    expect(stage.submitted).toEqual([]);
  });

  test('takes thousands of values of one field without keeping others waiting, and refuses more', async () => {
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const send = async (values: number) => {
      const body = Array.from({ length: values }, (_, i) => `f.choices=${i}`).join('&');
      return (await fetch(stage.baseUrl + PATH, { method: 'POST', headers: type, body })).status;
    };
    const began = performance.now();
    expect(await send(10_000)).toBe(200);
    expect(performance.now() - began).toBeLessThan(1000 * PATIENCE);
    expect(await send(10_002)).toBe(400);
    const boundary = '--x\r\nContent-Disposition: form-data; name="f.choices"\r\n\r\n1\r\n';
    const headers = { 'Content-Type': 'multipart/form-data; boundary="x"' };
    const body = `${boundary.repeat(10_001)}--x--\r\n`;
    expect((await fetch(stage.baseUrl + PATH, { method: 'POST', headers, body })).status).toBe(400);
    const twoTypes = { 'Content-Type': 'text/plain, multipart/form-data; boundary="x"' };
    const few = `${boundary}--x--\r\n`;
    expect((await fetch(stage.baseUrl + PATH, { method: 'POST', headers: twoTypes, body: few })).status).toBe(400);
    const files = `${boundary.replace('"f.choices"', '"f.file"; filename="a"').repeat(501)}--x--\r\n`;
    expect((await fetch(stage.baseUrl + PATH, { method: 'POST', headers, body: files })).status).toBe(400);
    expect(stage.submitted).toHaveLength(1);
  });

  test('is not found with a wrong token, and reports a malformed body', async () => {
    const missing = await stage.get('/f/nothing');
    expect([missing.status, await missing.text()]).toEqual([404, expect.stringContaining('There is no such form')]);
    const broken = await fetch(stage.baseUrl + PATH, {
      method: 'POST',
      headers: { 'Content-Type': 'text/plain' },
      body: 'x',
    });
    expect([broken.status, broken.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
  });
});
