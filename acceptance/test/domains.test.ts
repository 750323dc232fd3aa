import { request } from 'node:http';
import { CHROMIUM, hasBrowser } from '@commonplace/kit/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { type DnsRecord, type DnsServer, startDnsServer } from '../src/dns.js';
import { eventually } from '../src/eventually.js';
import { type Person, signIn } from '../src/people.js';
import type { Resource, Workspace } from '../src/records.js';
import { freePort, type OwnSystem, startSystem } from '../src/system.js';
import { openBrowser } from '../src/visitor.js';

const WIKI = 'wiki.example.test';
const BYTES = 'bytes.example.test';
const DOCS = 'docs.customer.test';
const HELP = 'help.customer.test';
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PASSWORD = 'correct horse battery';
/** Milliseconds within which a domain is checked after it was named again. */
const LOOKED_MS = 45_000;

interface Domain {
  readonly domain: string;
  readonly status: string;
  readonly certificate: string;
  readonly last_checked_at: string | null;
  readonly error: string | null;
  readonly dns_records: readonly { type: 'TXT' | 'CNAME'; name: string; value: string; ok: boolean }[];
}

interface Publication {
  readonly url: string;
  readonly domains: readonly Domain[];
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

let dns: DnsServer;
let system: OwnSystem;
let port: number;
let by: Person;
let handbook: Resource;
let secret: Resource;
/** Addresses of pages by their names, under the handbook's own domain. */
const paths = new Map<string, string>();

beforeAll(async () => {
  dns = await startDnsServer();
  port = await freePort();
  system = await startSystem({
    COMMONPLACE_PORT: String(port),
    COMMONPLACE_PUBLIC_URL: `http://${WIKI}:${port}`,
    COMMONPLACE_CONTENT_URL: `http://${BYTES}:${port}`,
    COMMONPLACE_INSECURE_HTTP: '1',
    COMMONPLACE_DNS_SERVERS: dns.address,
  });
  by = await signIn(system, system.owner);
  const workspace = (await by.post<Workspace>('/workspaces', { name: 'Customer' })).data;
  const create = async (fields: object) => (await by.post<Resource>('/resources', fields)).data;
  handbook = await create({ type: 'folder', name: 'Handbook', workspace_id: workspace.id });
  const below = { parent_id: handbook.id };
  const picture = { ...below, name: 'dial.png', content_type: 'image/png', content_base64: PIXEL };
  const file = (await by.post<{ resource: Resource }>('/files', picture)).data.resource;
  await create({ ...below, type: 'document', name: 'First steps', content: 'Ask for the zebrawood key.' });
  secret = await create({
    ...below,
    type: 'document',
    name: 'Secret',
    content: 'zebrawood',
    access_mode: 'restricted',
  });
  const source = `<img id="dial" src="dial.png"><p id="out">waiting</p><script>
    document.getElementById('out').textContent = 'Force ' + (2 + 3) + ' ' + origin;
  </script>`;
  const assets = [{ name: 'dial.png', resource_id: file.id }];
  await create({ ...below, type: 'artifact', name: 'Dial', content: { artifact_type: 'html', source, assets } });
}, 180_000);
afterAll(async () => {
  await system?.stop();
  await dns?.close();
});

/** Sends a request under any host name, like a browser that DNS has directed here. */
function read(host: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { method: body === undefined ? 'GET' : 'POST', headers: { ...headers, host } };
    const sent = request(new URL(path, system.baseUrl), options, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece) => {
        text += piece;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const publish = async (fields: object) =>
  (await by.post<Publication>(`/resources/${handbook.id}/publish`, { slug: 'handbook', ...fields })).data;
const known = async (domain: string) => {
  const { domains } = (await by.get<Publication>(`/resources/${handbook.id}/publish`)).data;
  return domains.find((one) => one.domain === domain) as Domain;
};

/** Publishes the DNS records that the product asks for. */
const recordsOf = ({ dns_records: wanted }: Domain): DnsRecord[] =>
  wanted.map(({ type, name, value }) => ({ type, name, data: value }));

describe('a domain of a publication', () => {
  test('belongs to no publication until its DNS record proves it, and serves the publication from then on', async () => {
    const listed = { visibility: 'public', allow_indexing: true };
    const [claimed] = (await publish({ ...listed, custom_domains: [DOCS] })).domains as [Domain];
    expect(claimed).toMatchObject({ domain: DOCS, status: 'pending_dns', last_checked_at: null });
    expect(claimed.dns_records).toEqual([
      {
        type: 'TXT',
        name: `_wsk-verify.${DOCS}`,
        value: expect.stringMatching(/^wsk-verify=[0-9a-f]{40}$/),
        ok: false,
      },
      { type: 'CNAME', name: DOCS, value: WIKI, ok: false },
    ]);
    expect((await read(`${DOCS}:${port}`, '/')).status).toBe(404);

    const [txt, cname] = recordsOf(claimed) as [DnsRecord, DnsRecord];
    await dns.set({ records: [{ ...txt, data: 'wsk-verify=of-another' }, cname] });
    await publish({ custom_domains: [DOCS] });
    await eventually(async () => expect(await known(DOCS)).toMatchObject({ status: 'verifying' }), LOOKED_MS);
    expect((await known(DOCS)).error).toContain('TXT');
    expect((await read(`${DOCS}:${port}`, '/')).status).toBe(404);

    await dns.set({ records: [txt, cname] });
    await publish({ custom_domains: [DOCS] });
    await eventually(async () => expect(await known(DOCS)).toMatchObject({ status: 'active' }), LOOKED_MS);
    expect((await known(DOCS)).dns_records.map(({ ok }) => ok)).toEqual([true, true]);
    await eventually(async () => expect((await read(`${DOCS}:${port}`, '/')).status).toBe(200));
  }, 120_000);

  test('has the publication at its root, with its own addresses', async () => {
    const home = await read(`${DOCS}:${port}`, '/');
    for (const [, path = '', name = ''] of home.text.matchAll(
      /<a href="(\/[^"]*-[0-9a-f]{12})">(?:<[^>]*>)*([^<]+)</g,
    )) {
      paths.set(name, path);
    }
    expect([...paths.keys()].sort()).toEqual(['Dial', 'First steps', 'dial.png']);
    const url = `http://${DOCS}:${port}`;
    const first = paths.get('First steps') ?? '';
    const page = await read(`${DOCS}:${port}`, first);
    expect([page.status, page.text.includes('zebrawood key')]).toEqual([200, true]);
    expect(page.headers.link).toBe(`<${url}${first}>; rel="canonical"`);
    expect(page.text).toContain(`<link rel="canonical" href="${url}${first}"/>`);
    expect(page.text).toContain(`<meta property="og:url" content="${url}${first}"/>`);
    expect(page.text).not.toContain(WIKI);
    // It exists under the public URL too, with its canonical address.
    const there = await read(`${WIKI}:${port}`, `/p/handbook${first}`);
    expect([there.status, there.headers.link]).toEqual([200, `<${url}${first}>; rel="canonical"`]);
    // A former name redirects to the current address on the same host.
    const old = await read(`${DOCS}:${port}`, first.replace('first-steps', 'earlier-name'));
    expect([old.status, old.headers.location]).toEqual([301, `${url}${first}`]);
    const etag = String(page.headers.etag);
    expect((await read(`${DOCS}:${port}`, first, { 'If-None-Match': etag })).status).toBe(304);
    expect((await read(`${DOCS}:${port}`, `${first}?format=md`)).text).toContain('Ask for the zebrawood key.');
  });

  test('is searched, and listed for search engines, by itself', async () => {
    const found = (await read(`${DOCS}:${port}`, '/?q=zebrawood')).text;
    expect(found).toContain(`<a href="${paths.get('First steps')}">`);
    expect(found).not.toContain('Secret');
    const url = `http://${DOCS}:${port}`;
    expect((await read(`${DOCS}:${port}`, '/robots.txt')).text.split('\n')).toEqual(
      expect.arrayContaining(['User-agent: *', 'Allow: /', `Sitemap: ${url}/sitemap.xml`]),
    );
    const sitemap = (await read(`${DOCS}:${port}`, '/sitemap.xml')).text;
    const locs = [...sitemap.matchAll(/<loc>([^<]+)<\/loc><lastmod>\d{4}-/g)].map(([, loc]) => loc).sort();
    expect(locs).toEqual([`${url}/`, ...[...paths.values()].map((path) => url + path)].sort());
    // A publication with a domain of its own is listed only there.
    expect((await read(`${WIKI}:${port}`, '/robots.txt')).text).not.toContain('handbook');
    expect((await read(`${WIKI}:${port}`, '/sitemap.xml')).text).not.toContain('handbook');
    for (const path of ['/robots.txt', '/sitemap.xml']) {
      const { text } = await read(`unknown.test:${port}`, path);
      expect(text).not.toMatch(/handbook|customer|Allow: \//);
    }
  });

  test.each([DOCS, DOCS.toUpperCase(), `${DOCS}.`, `Docs.Customer.Test.`, `${DOCS}:80`, `${DOCS}:8443`])(
    'is the same host in every spelling: %s',
    async (host) => {
      const { status, text, headers } = await read(host, paths.get('First steps') ?? '');
      expect([status, text.includes('zebrawood key')]).toEqual([200, true]);
      // Addresses are built from the verified domain, never from what the client has sent.
      expect(headers.link).toBe(`<http://${DOCS}:${port}${paths.get('First steps')}>; rel="canonical"`);
    },
  );

  test.each([
    `x.${DOCS}`,
    `${DOCS}.evil.test`,
    `evil${DOCS}`,
    'customer.test',
    `${DOCS}..`,
    `_wsk-verify.${DOCS}`,
    HELP,
    'unknown.test',
    '192.0.2.1',
    '[2001:db8::1]',
  ])('matches no other host: %s', async (host) => {
    for (const path of ['/', paths.get('First steps') ?? '', '/p/handbook', `/p/handbook${paths.get('First steps')}`]) {
      const { status, text, headers } = await read(host, path);
      expect([path, status]).toEqual([path, 404]);
      // Its id is random, and may spell any word.
      const { 'x-request-id': _, ...others } = headers;
      expect(JSON.stringify([text, others])).not.toMatch(/zebrawood|customer|evil/);
    }
  });

  test('serves nothing of the rest of the server', async () => {
    const others = [
      '/docs',
      '/auth/sign-in',
      '/api/v1/me',
      '/api/v1/capabilities',
      '/p/handbook',
      '/f/x',
      '/openapi.json',
    ];
    for (const path of [...others, `/${secret.id}`, `/secret-${secret.id.slice(-12)}`]) {
      const { status, text } = await read(`${DOCS}:${port}`, path);
      expect([path, status, text.includes('zebrawood')]).toEqual([path, 404, false]);
    }
    const posted = await read(`${DOCS}:${port}`, '/api/v1/auth/sign-in', { 'Content-Type': 'application/json' }, '{}');
    expect([posted.status, posted.headers['set-cookie']]).toEqual([404, undefined]);
  });

  test('asks for the password itself, and keeps the cookie to itself', async () => {
    await publish({ password: PASSWORD });
    const host = `${DOCS}:${port}`;
    const first = paths.get('First steps') ?? '';
    await eventually(async () => expect((await read(host, first)).status).toBe(403));
    const gate = await read(host, first);
    expect(gate.text).toContain('<form method="post" action="/"');
    expect((await read(host, '/?q=zebrawood')).status).toBe(403);
    expect((await read(host, '/sitemap.xml')).text).not.toContain('<loc>');
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: `http://${host}` };
    const body = new URLSearchParams({ password: PASSWORD, next: first }).toString();
    const foreign = await read(host, '/', { ...form, Origin: `http://${WIKI}:${port}` }, body);
    expect([foreign.status, foreign.headers['set-cookie']]).toEqual([403, undefined]);
    const opened = await read(host, '/', form, body);
    expect([opened.status, opened.headers.location]).toEqual([303, first]);
    const [cookie = ''] = opened.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/^reader=[^;]+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
    const page = await read(host, first, { Cookie: cookie.split(';')[0] ?? '' });
    expect([page.status, page.headers['cache-control']]).toEqual([200, 'private, max-age=0, must-revalidate']);
    await publish({ visibility: 'public' });
    await eventually(async () => expect((await read(host, first)).status).toBe(200));
  });

  test('leaves its publication with the records of another claim, which prove nothing', async () => {
    await publish({ custom_domains: [DOCS, HELP] });
    const { data } = await by.post<Publication>(`/resources/${handbook.id}/publish`, { custom_domains: [HELP] });
    expect(data.domains.map(({ domain }) => domain)).toEqual([HELP]);
    await eventually(async () => expect((await read(`${DOCS}:${port}`, '/')).status).toBe(404));
    const again = (await publish({ custom_domains: [DOCS] })).domains[0] as Domain;
    expect(again.status).toBe('pending_dns');
    expect((await read(`${DOCS}:${port}`, '/')).status).toBe(404);
    await eventually(async () => expect(await known(DOCS)).toMatchObject({ status: 'verifying' }), LOOKED_MS);
  });
});

const inBrowser = hasBrowser ? describe : describe.skip;

inBrowser(`in a browser that the DNS leads here (skipped without ${CHROMIUM})`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await openBrowser(['--host-resolver-rules=MAP *.test 127.0.0.1']);
    const claimed = (await publish({ custom_domains: [DOCS, HELP] })).domains;
    await dns.set({ records: claimed.flatMap(recordsOf) });
    await publish({ custom_domains: [DOCS, HELP] });
    for (const domain of [DOCS, HELP]) {
      await eventually(async () => expect(await known(domain)).toMatchObject({ status: 'active' }), LOOKED_MS);
    }
  }, 150_000);
  afterAll(async () => {
    await browser?.close();
  });

  /** Returns the text of the artifact's frame once its script has run and its picture is loaded. */
  async function dialIn(page: Page): Promise<string> {
    const frame = page.frameLocator('iframe.artifact');
    await frame.getByText('Force 5').waitFor();
    await eventually(async () => {
      const width = await frame
        .locator('#dial')
        .evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth);
      expect(width).toBe(1);
    });
    return (await frame.locator('#out').textContent()) ?? '';
  }

  test.each([DOCS, HELP])('an artifact runs in its frame, separate from the page: %s', async (host) => {
    const page = await browser.newPage();
    await eventually(async () => expect((await page.goto(`http://${host}:${port}/`))?.status()).toBe(200));
    await page.getByLabel('Pages of this publication').getByRole('link', { name: 'Dial', exact: true }).click();
    expect(await dialIn(page)).toBe('Force 5 null');
    await page.close();
  });

  test('one with a password runs too; its address opens it once more, and nothing else, and is in no log', async () => {
    await publish({ password: PASSWORD });
    for (const [host, home] of [
      [WIKI, '/p/handbook'],
      [DOCS, '/'],
    ]) {
      const page = await browser.newPage();
      await eventually(async () => {
        expect((await page.goto(`http://${host}:${port}${home}`))?.status()).toBe(403);
      });
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Open' }).click();
      await page.getByLabel('Pages of this publication').getByRole('link', { name: 'Dial', exact: true }).click();
      expect(await dialIn(page)).toBe('Force 5 null');
      const address = new URL(page.frames()[1]?.url() ?? '');
      expect([address.hostname, [...address.searchParams.keys()]]).toEqual([BYTES, ['frame', 'pass']]);
      const pass = address.searchParams.get('pass') ?? '';
      const [cookie] = await page.context().cookies(`http://${host}:${port}${home}`);
      expect(cookie?.value).toBeTruthy();
      expect(address.href).not.toContain(cookie?.value ?? '');
      await page.close();

      const bytes = `${BYTES}:${port}`;
      expect((await read(bytes, address.pathname + address.search)).text).toContain('waiting');
      const first = `/p/handbook${paths.get('First steps')}`;
      for (const path of [first, `${first}?frame=1&pass=${pass}`, `/p/handbook?frame=1&pass=${pass}`]) {
        for (const where of [bytes, `${WIKI}:${port}`]) {
          const { status, text } = await read(where, path.includes('?') ? path : `${path}?pass=${pass}`);
          expect([303, 403, 404]).toContain(status);
          expect(text).not.toContain('zebrawood');
        }
      }
      expect((await read(`${WIKI}:${port}`, `/p/handbook?q=zebrawood&pass=${pass}`)).status).toBe(403);
      expect((await read(`${WIKI}:${port}`, first, { Cookie: `reader=${pass}` })).status).toBe(403);
      const said = await system.said();
      for (const secretText of [pass, cookie?.value ?? '', PASSWORD]) expect(said).not.toContain(secretText);
    }
  }, 120_000);
});

describe('the host of users’ bytes', () => {
  test.each([BYTES, BYTES.toUpperCase(), `${BYTES}.`])(
    'serves frames and what they load, and nothing else: %s',
    async (name) => {
      await publish({ visibility: 'public' });
      const host = `${name}:${port}`;
      const frame = `/p/handbook${paths.get('Dial')}?frame=1`;
      await eventually(async () => expect((await read(host, frame)).status).toBe(200));
      const { headers, text } = await read(host, frame);
      expect(headers['content-security-policy']).toMatch(/^sandbox allow-scripts; default-src 'none';/);
      expect(headers['x-robots-tag']).toContain('noindex');
      const file = /src="(\/p\/handbook\/files\/[^"]+)"/.exec(text)?.[1] ?? '';
      expect((await read(host, file)).headers['content-type']).toBe('image/png');
      for (const path of [
        '/p/handbook',
        `/p/handbook${paths.get('First steps')}`,
        '/docs',
        '/auth/sign-in',
        '/api/v1/me',
      ]) {
        expect([path, (await read(host, path)).status]).toEqual([path, 404]);
      }
      expect((await read(host, '/robots.txt')).text).toBe('User-agent: *\nDisallow: /\n');
      // On the product’s own host it is shown without running.
      const own = await read(`${WIKI}:${port}`, frame);
      expect(own.headers['content-security-policy']).toMatch(/^sandbox; default-src 'none';/);
    },
  );
});
