import { request } from 'node:http';
import { PATIENCE } from '@commonplace/kit/testing/patience';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openPagesStage, PASS, PASSWORD, type PagesStage } from './pages/stage.js';

let stage: PagesStage;

beforeEach(async () => {
  stage = await openPagesStage({ publicUrl: 'https://wiki.example.com' });
});
afterEach(() => stage?.close());

const callsOf = (rpc: string) => stage.calls.filter((call) => call.rpc === rpc);
/** Waits until everything that the gateway has cached is stale. */
const later = () => new Promise((resolve) => setTimeout(resolve, 1100));

/** Sends a request with another Host header than the host it is sent to. */
function underHost(
  host: string,
  path: string,
  { baseUrl = stage.baseUrl, method = 'GET', headers = {} } = {},
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${baseUrl}${path}`, { method, headers: { ...headers, host } }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.once('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    outgoing.once('error', reject).end();
  });
}

describe('a published document', () => {
  test('describes itself to machines, and its lifetime to browsers', async () => {
    const answer = await stage.get('/p/handbook');
    const html = await answer.text();
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'public, max-age=60, stale-while-revalidate=300',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      link: '<https://wiki.example.com/p/handbook>; rel="canonical"',
    });
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none';.*frame-ancestors 'none'/);
    expect(answer.headers.get('content-security-policy')).not.toMatch(/script-src|unsafe|\*|http/);
    expect(answer.headers.has('x-robots-tag')).toBe(false);
    for (const part of [
      '<link rel="canonical" href="https://wiki.example.com/p/handbook"/>',
      '<link rel="alternate" hreflang="en" href="https://wiki.example.com/p/handbook"/>',
      '<meta property="og:title" content="Field handbook"/>',
      '<meta property="og:image" content="https://wiki.example.com/p/handbook/files/plan/0123456789abcdef/plan.png"/>',
      '"@type":"Article"',
      '<a href="#before-you-go">Before you go</a>',
    ]) {
      expect(html).toContain(part);
    }
    expect(html).not.toMatch(/<script(?! type="application\/ld\+json")|<style|\sstyle=|\son\w+=/);
  });

  test('is rendered once, and again when its publication has changed', async () => {
    const first = await stage.get('/p/handbook');
    const etag = first.headers.get('etag') ?? '';
    const again = await stage.get('/p/handbook', { 'If-None-Match': etag });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect(again.headers.get('cache-control')).toBe('public, max-age=60, stale-while-revalidate=300');
    expect([callsOf('readPage').length, callsOf('getRevision').length]).toEqual([1, 0]);

    Object.assign(stage.state, { html: '<p>Another text.</p>', revision: 'another' });
    await later();
    const changed = await stage.get('/p/handbook', { 'If-None-Match': etag });
    expect([changed.status, (await changed.text()).includes('Another text.')]).toEqual([200, true]);
    expect([callsOf('readPage').length, callsOf('getRevision').length]).toEqual([2, 1]);
  });

  test('that is large arrives whole, with its length', async () => {
    Object.assign(stage.state, { html: `<p>${'Some words. '.repeat(60_000)}</p>`, revision: 'large' });
    const answer = await stage.get('/p/handbook');
    const html = await answer.text();
    expect(html).toContain('Some words. </p>');
    expect(html.endsWith('</html>\n') || html.endsWith('</html>')).toBe(true);
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(html)));
    const head = await fetch(`${stage.baseUrl}/p/handbook`, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(answer.headers.get('content-length'));
  });

  test('disappears soon after it is unpublished', async () => {
    expect((await stage.get('/p/handbook')).status).toBe(200);
    Object.assign(stage.state, { missing: true, gone: true, revision: 'gone' });
    await later();
    const answer = await stage.get('/p/handbook');
    expect(answer.status).toBe(404);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-robots-tag')).toBe('noindex, nofollow');
    expect(await answer.text()).toContain('This page is no longer here');
  });

  test('disappears with the response to the change that unpublished it', async () => {
    expect((await stage.get('/p/handbook')).status).toBe(200);
    stage.change({ missing: true, revision: 'restricted' });
    expect((await stage.get('/p/handbook')).status).toBe(404);
    const elsewhere = await openPagesStage({ isTold: false });
    try {
      expect((await elsewhere.get('/p/handbook')).status).toBe(200);
      expect((await elsewhere.get('/p/handbook')).status).toBe(200);
      expect(elsewhere.calls.filter(({ rpc }) => rpc === 'readPage')).toHaveLength(1);
      Object.assign(elsewhere.state, { missing: true, revision: 'restricted' });
      expect((await elsewhere.get('/p/handbook')).status).toBe(404);
    } finally {
      await elsewhere.close();
    }
  });

  test('causes one call for many concurrent readers', async () => {
    await stage.get('/p/handbook');
    await later();
    stage.calls.length = 0;
    const answers = await Promise.all(Array.from({ length: 20 }, () => stage.get('/p/handbook')));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect([callsOf('readPage').length, callsOf('getRevision').length]).toEqual([0, 1]);
  });

  test('is listed only if its publisher wants it', async () => {
    stage.state.indexed = false;
    const answer = await stage.get('/p/handbook');
    expect(answer.headers.get('x-robots-tag')).toBe('noindex, nofollow');
    expect(await answer.text()).toContain('<meta name="robots" content="noindex, nofollow"/>');
  });

  test('exists as Markdown', async () => {
    const answer = await stage.get('/p/handbook?format=md');
    expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(answer.headers.get('x-robots-tag')).toBe('noindex, nofollow');
    expect(await answer.text()).toBe('# Field handbook\n\nEverything.\n');
    expect(await (await stage.get('/p/handbook/reference?format=md')).text()).toContain(
      '- [Price list](/p/handbook/prices)',
    );
    expect(await (await stage.get('/p/handbook/prices?format=md')).text()).toContain('| Rope no. 1 | € 12.50 |');
  });

  test('keeps the lines of texts in a table', async () => {
    const html = await (await stage.get('/p/handbook/prices')).text();
    expect(html).toMatch(/<td class="lined">[^<]*Rope no\. 1<\/td><td class="number">/);
  });

  test('names each table that scrolls, and the kinds of callouts', async () => {
    const table = '<table><tbody><tr><td>1</td></tr></tbody></table>';
    const callouts =
      '<aside data-callout="note"><p>Fine.</p></aside><aside data-callout="see-also"><p>More.</p></aside>';
    stage.change({ html: table + table + callouts, revision: 'callouts' });
    const html = await (await stage.get('/p/handbook')).text();
    expect([...html.matchAll(/role="region" aria-label="([^"]*)"/g)].map(([, name]) => name)).toEqual([
      'Table',
      'Table 2',
    ]);
    expect(html).toContain('<aside role="note" data-callout="note"><p class="kind">Note</p><p>Fine.</p></aside>');
    expect(html).toContain('<p class="kind">See also</p>');
  });

  test('has its theme', async () => {
    stage.state.theme = 'dark';
    expect(await (await stage.get('/p/handbook')).text()).toContain('<html lang="en" data-theme="dark">');
  });
});

test('a table shows its rows by pages', async () => {
  const first = await (await stage.get('/p/handbook/prices')).text();
  expect(first).toContain('Rows 1 to 100 of 250');
  expect(first).toContain('<a rel="next" href="/p/handbook/prices?offset=100">');
  const last = await (await stage.get('/p/handbook/prices?offset=200')).text();
  expect(last).toContain('Rows 201 to 250 of 250');
  expect(last).toContain('<a rel="prev" href="/p/handbook/prices?offset=100">');
  expect(last).not.toContain('rel="next"');
});

test('an artifact is in a frame that cannot script on the product’s own host', async () => {
  const html = await (await stage.get('/p/handbook/dial')).text();
  expect(html).toContain('src="/p/handbook/dial?frame=1"');
  expect(html).toMatch(/<iframe[^>]* sandbox(=""|\s|>)/);
  const frame = await stage.get('/p/handbook/dial?frame=1');
  expect(frame.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none';/);
  expect((await stage.get('/p/handbook?frame=1')).status).toBe(404);
});

describe('an artifact with an origin for users’ bytes', () => {
  let apart: PagesStage;
  beforeAll(async () => {
    apart = await openPagesStage({ publicUrl: 'https://wiki.example.com', contentUrl: 'https://bytes.example.net' });
  });
  afterAll(() => apart?.close());
  const there = 'bytes.example.net';
  const ask = (host: string, path: string, more: { method?: string; headers?: Record<string, string> } = {}) =>
    underHost(host, path, { baseUrl: apart.baseUrl, ...more });
  const framed = (host: string) => ask(host, '/p/handbook/dial?frame=1');

  test('may script there, and nowhere else', async () => {
    const page = await (await apart.get('/p/handbook/dial')).text();
    expect(page).toContain('src="https://bytes.example.net/p/handbook/dial?frame=1"');
    const policy = String((await framed(there)).headers['content-security-policy']);
    expect(policy).toMatch(/^sandbox allow-scripts; default-src 'none';/);
    expect(policy).not.toContain('allow-same-origin');
    expect(policy).toContain("frame-ancestors 'self' https://wiki.example.com https://docs.example.com");
    const here = String((await framed('wiki.example.com')).headers['content-security-policy']);
    expect(here).toMatch(/^sandbox; default-src 'none';/);
    expect(here).not.toContain('script-src');
  });

  test('runs on a page under a publication’s own domain too', async () => {
    const { text, headers } = await ask('docs.example.com', '/dial');
    expect(text).toContain('src="https://bytes.example.net/p/handbook/dial?frame=1"');
    expect(headers['content-security-policy']).toContain('frame-src https://bytes.example.net');
  });

  test.each([there, 'BYTES.Example.net', 'bytes.example.net.', 'bytes.example.net:443'])(
    'is the only content of that origin: %s',
    async (host) => {
      for (const path of [
        '/p/handbook',
        '/p/handbook/dial',
        '/docs',
        '/auth/sign-in',
        '/api/v1/me',
        '/p/handbook?q=a',
      ]) {
        expect([path, (await ask(host, path)).status]).toEqual([path, 404]);
      }
      expect((await framed(host)).headers['content-security-policy']).toMatch(/^sandbox allow-scripts;/);
      expect((await ask(host, '/robots.txt')).text).toContain('Disallow: /');
      expect((await ask(host, '/p/handbook?frame=1', { method: 'POST' })).status).toBe(405);
    },
  );

  test('of a publication with a password is opened by an address for it alone, and by no proof', async () => {
    apart.state.locked = true;
    apart.state.revision = 'locked';
    await later();
    const headers = { cookie: '__Secure-reader=a-proof' };
    const page = await ask('wiki.example.com', '/p/handbook/dial', { headers });
    expect(page.text).toContain('src="/p/handbook/dial?frame=1"');
    expect(page.text).toContain('sandbox="allow-scripts"');
    expect(page.text).not.toMatch(/a-proof|a-pass/);
    expect(page.headers['content-security-policy']).toContain("frame-src 'self' https://bytes.example.net");
    const led = await ask('wiki.example.com', '/p/handbook/dial?frame=1', { headers });
    const location = `https://bytes.example.net/p/handbook/dial?frame=1&pass=${PASS}`;
    expect([led.status, led.headers.location, led.headers['cache-control']]).toEqual([303, location, 'no-store']);
    const { pathname, search } = new URL(location);
    const frame = await ask(there, pathname + search);
    expect([frame.status, frame.text.includes('<h2>Wind</h2>')]).toEqual([200, true]);
    expect(frame.headers['cache-control']).toBe('private, max-age=0, must-revalidate');
    expect((await ask('wiki.example.com', '/p/handbook/dial?frame=1')).status).toBe(403);
    for (const path of [
      '/p/handbook/dial?frame=1',
      '/p/handbook/dial?frame=1&proof=a-proof',
      `/p/handbook?frame=1&pass=${PASS}`,
      '/p/handbook/files/plan/0123456789abcdef/plan.png',
    ]) {
      const { status, headers, text } = await ask(there, path);
      expect([path, status, headers.location, text]).toEqual([path, 303, 'https://wiki.example.com/p/handbook', '']);
    }
  });
});

describe('a password', () => {
  beforeEach(() => {
    stage.state.locked = true;
  });

  test('opens the requested page, in one browser', async () => {
    const gate = await stage.get('/p/handbook/prices');
    expect(gate.status).toBe(403);
    const form = await gate.text();
    expect(form).toContain('<input type="hidden" name="next" value="/p/handbook/prices"/>');
    expect(form).not.toContain('Price list');
    const opened = await stage.post('/p/handbook', { password: PASSWORD, next: '/p/handbook/prices' });
    expect([opened.status, opened.headers.get('location')]).toEqual([303, '/p/handbook/prices']);
    const cookie = opened.headers.getSetCookie()[0] ?? '';
    expect(cookie).toMatch(
      /^__Secure-reader=a-proof; Path=\/p\/handbook; Max-Age=7200; HttpOnly; SameSite=Lax; Secure$/,
    );
    const page = await stage.get('/p/handbook/prices', { Cookie: cookie.split(';')[0] ?? '' });
    expect(page.status).toBe(200);
    expect(page.headers.get('cache-control')).toBe('private, max-age=0, must-revalidate');
    expect((await stage.get('/p/handbook/prices')).status).toBe(403);
  });

  test('that is wrong leads to the requested page later, with its query, in the theme of the publication', async () => {
    stage.state.theme = 'dark';
    const next = '/p/handbook/prices?offset=100&q=a%26b';
    const form = await (await stage.get(next)).text();
    const field = `<input type="hidden" name="next" value="${next.replace('&', '&amp;')}"/>`;
    expect(form).toContain(field);
    const again = await (await stage.post('/p/handbook', { password: 'wrong', next })).text();
    expect(again).toContain(field);
    expect(again).toContain('data-theme="dark"');
    const opened = await stage.post('/p/handbook', { password: PASSWORD, next });
    expect(opened.headers.get('location')).toBe(next);
    const search = await stage.post('/p/handbook', { password: PASSWORD, next: '/p/handbook?q=rope' });
    expect(search.headers.get('location')).toBe('/p/handbook?q=rope');
  });

  test('that is wrong, or was tried too many times, shows the reason', async () => {
    const wrong = await stage.post('/p/handbook', { password: 'wrong' });
    expect([wrong.status, await wrong.text()]).toEqual([403, expect.stringContaining('That is not the password.')]);
    const tooOften = await stage.post('/p/handbook', { password: 'again' });
    expect([tooOften.status, tooOften.headers.get('retry-after')]).toEqual([429, '120']);
  });

  test.each([
    '//evil.example/',
    '/\\evil.example',
    'https://evil.example/',
    '/auth/sign-in',
    '/p/handbook/../../docs',
    '/\t/evil.example',
    '/p/handbook-2',
    '',
  ])('redirects nowhere else: %s', async (next) => {
    const answer = await stage.post('/p/handbook', { password: PASSWORD, next });
    expect(answer.headers.get('location')).toBe('/p/handbook');
  });

  test('is accepted from no other site', async () => {
    const foreign: Record<string, string>[] = [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ];
    for (const headers of foreign) {
      const answer = await stage.post('/p/handbook', { password: PASSWORD }, headers);
      expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
    }
  });
});

test('a file is sent with its name, by ranges on request, and runs nothing', async () => {
  const path = '/p/handbook/files/plan/0123456789abcdef/plan.png';
  const answer = await stage.get(path);
  expect(answer.headers.get('content-type')).toBe('image/png');
  expect(answer.headers.get('content-disposition')).toBe("inline; filename*=UTF-8''Plan%20%26%20map.png");
  expect(answer.headers.get('content-security-policy')).toContain('sandbox');
  const whole = Buffer.from(await answer.arrayBuffer());
  const part = await stage.get(path, { Range: 'bytes=10-19' });
  expect([part.status, Buffer.from(await part.arrayBuffer())]).toEqual([206, whole.subarray(10, 20)]);
  expect((await stage.get('/p/handbook/files/other/0123456789abcdef/x')).status).toBe(404);
});

test("a search shows the results with the query's words marked", async () => {
  const html = await (await stage.get('/p/handbook?q=Price')).text();
  expect(html).toContain('<a href="/p/handbook/prices">');
  expect(html).toContain('<mark>Price</mark>');
  expect(await (await stage.get('/p/handbook?q=%3Cb%3E')).text()).toContain('“&lt;b>”');
});

test('a search marks whole words only', async () => {
  const html = await (await stage.get('/p/handbook?q=Price+r')).text();
  expect(html).not.toContain('<mark>r</mark>');
});

test('a search with more results links to the next and previous pages', async () => {
  const first = await (await stage.get('/p/handbook?q=every')).text();
  expect(first).toContain('<a rel="next" href="/p/handbook?q=every&amp;offset=2">');
  expect(first).not.toContain('rel="prev"');
  const last = await (await stage.get('/p/handbook?q=every&offset=4')).text();
  expect(last).toContain('Results 5 to 6 for “every”');
  expect(last).toContain('<a rel="prev" href="/p/handbook?q=every">');
  expect(last).not.toContain('rel="next"');
});

test('a path of thousands of slashes is read at once', async () => {
  const began = performance.now();
  expect((await stage.get(`/p/handbook/${'/'.repeat(15_000)}a`)).status).toBe(404);
  expect(performance.now() - began).toBeLessThan(100 * PATIENCE);
  expect((await stage.get('/p/handbook///')).status).toBe(200);
});

test('a former address redirects', async () => {
  const answer = await stage.get('/p/handbook/old');
  expect([answer.status, answer.headers.get('location')]).toEqual([301, 'https://wiki.example.com/p/handbook']);
});

describe('search engines', () => {
  test('may fetch listed pages, and find out where they are', async () => {
    const robots = await (await stage.get('/robots.txt')).text();
    expect(robots.split('\n')).toEqual([
      'User-agent: *',
      'Allow: /p/handbook$',
      'Allow: /p/handbook?',
      'Allow: /p/handbook/',
      'Allow: /assets/',
      'Disallow: /',
      '',
      'Sitemap: https://wiki.example.com/sitemap.xml',
      '',
    ]);
    const sitemap = await (await stage.get('/sitemap.xml')).text();
    expect(sitemap).toContain(
      '<loc>https://wiki.example.com/p/handbook/prices</loc><lastmod>2026-10-05T09:00:00.000Z</lastmod>',
    );
  });

  test('may fetch nothing if nothing is listed', async () => {
    stage.state.indexed = false;
    expect(await (await stage.get('/robots.txt')).text()).toBe('User-agent: *\nDisallow: /\n');
  });
});

describe('a publication’s own domain', () => {
  test('has the publication at its root, and nothing else of this server', async () => {
    expect((await underHost('docs.example.com', '/')).text).toContain('<h1>Field handbook</h1>');
    for (const path of ['/docs', '/auth/sign-in', '/api/v1/me', '/p/handbook/nothing']) {
      expect((await underHost('docs.example.com', path)).status).toBe(404);
    }
    expect((await underHost('docs.example.com', '/robots.txt')).text).toContain('Sitemap:');
  });

  test.each(['DOCS.Example.Com', 'docs.example.com.', 'docs.example.com:443', 'docs.example.com.:443'])(
    'is the same in every spelling: %s',
    async (host) => {
      expect((await underHost(host, '/')).text).toContain('<h1>Field handbook</h1>');
      expect(callsOf('readPage').map((call) => (call.request as { address: { host: string } }).address.host)).toEqual([
        'docs.example.com',
      ]);
    },
  );

  test.each(['docs.example.com/x', 'docs.example.com:port', 'docs.example.com..', ' ', '*', '\x7f'])(
    'does not match a malformed host: %s',
    async (host) => {
      const { status, text } = await underHost(host, '/').catch(() => ({ status: 400, text: '' }));
      expect([400, 404]).toContain(status);
      expect(text).not.toContain('Field handbook');
    },
  );

  test('does not apply to unknown hosts, which see the same as before', async () => {
    const answer = await underHost('unknown.example.org', '/docs/errors');
    expect([answer.status, answer.text.includes('<h1>Errors</h1>')]).toEqual([200, true]);
    expect((await underHost('unknown.example.org', '/')).status).toBe(404);
  });
});

test('views are counted and reported in sums', async () => {
  const own = await openPagesStage({ publicUrl: 'https://wiki.example.com' });
  await own.get('/p/handbook');
  await own.get('/p/handbook');
  await own.get('/p/handbook/dial?frame=1');
  await fetch(`${own.baseUrl}/p/handbook`, { method: 'HEAD' });
  await own.close();
  expect(own.calls.filter(({ rpc }) => rpc === 'countViews').map(({ request }) => request)).toEqual([
    { items: [{ publicationId: 'publication', views: 2 }] },
  ]);
});
