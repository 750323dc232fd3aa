import { performance } from 'node:perf_hooks';
import { readRecordedExamples } from '@commonplace/platform/api-document';
import { ERROR_CODES } from '@commonplace/platform/error-codes';
import { createDocs, createLibrary, DOCS_CSP, docsHtml } from '@commonplace/site/docs';
import { ICON, STYLES } from '@commonplace/site/page';
import { describe, expect, test } from '@jest/globals';
import { createWrittenPages } from '../src/docs/written.js';
import { createOpenApi } from '../src/openapi/document.js';
import { createRoutes } from '../src/routes.js';

const docs = createDocs();
const bodyOf = async (path: string) => (await docs.find((each) => each.path === path)?.body())?.toString('utf8') ?? '';

describe('createDocs', () => {
  test('serves everything that its pages load, from its own origin', async () => {
    for (const { path, contentType } of docs.filter((each) => each.contentType.startsWith('text/html'))) {
      const html = await bodyOf(path);
      expect(contentType).toBe('text/html; charset=utf-8');
      for (const [, url = ''] of html.matchAll(/<(?:link|script|img) [^>]*(?:src|href)="([^"]+)"/g)) {
        expect([...docs, STYLES, ICON].map((each) => each.path)).toContain(url);
      }
    }
    expect(await bodyOf('/docs/explorer')).toContain('<title>Commonplace API · Commonplace</title>');
  });

  test('has no inline code, and a policy that forbids it', async () => {
    expect(DOCS_CSP).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/);
    expect(DOCS_CSP).not.toMatch(/unsafe|\*|http/);
    for (const path of ['/docs/explorer', '/docs/errors']) {
      expect(await bodyOf(path)).not.toMatch(/<script>|<style|style=|\son\w+=|javascript:/);
    }
    expect(docs.every((each) => each.contentSecurityPolicy === DOCS_CSP)).toBe(true);
  });

  test('passes the name of the document to the page', async () => {
    expect(await bodyOf('/docs/explorer')).toContain('data-document="/api/v1/openapi.json"');
    expect(await bodyOf('/docs/swagger-ui-bundle.js')).toContain('SwaggerUIBundle');
    expect(await bodyOf('/docs/init.js')).toContain('document.body.dataset.document');
  });

  test('explains every error under the name that doc_url points to', async () => {
    const html = await bodyOf('/docs/errors');
    for (const code of Object.values(ERROR_CODES).flatMap((codes) => Object.keys(codes))) {
      expect(html).toContain(`<dt id="${code}">`);
    }
  });

  test('reads an asset once', () => {
    const css = docs.find(({ path }) => path === '/docs/swagger-ui.css');
    expect(css?.body()).toBe(css?.body());
  });
});

describe('createLibrary', () => {
  const examples = readRecordedExamples();
  const document = createOpenApi(createRoutes(), { title: 'API', serverVersion: '1', examples });
  const library = createLibrary({ document, examples, publicUrl: 'https://a.example' });
  const read = async (path: string) =>
    (await (await library).find((page) => page.path === path)?.body())?.toString('utf8') ?? '';

  test('has each page as HTML and as Markdown, and no broken link', async () => {
    const pages = await library;
    const paths = new Set([...pages, ...docs].map(({ path }) => path));
    const elsewhere = new Set([
      '/auth/account',
      '/approvals',
      '/api/v1/openapi.json',
      '/llms.txt',
      '/auth/sign-in',
      '/',
      STYLES.path,
      ICON.path,
    ]);
    const html = pages.filter(({ contentType }) => contentType.startsWith('text/html'));
    expect(html.length).toBeGreaterThan(60);
    const ids = new Map<string, ReadonlySet<string>>();
    for (const { path } of [...html, ...docs.filter(({ contentType }) => contentType.startsWith('text/html'))]) {
      const text = paths.has(path) ? (await read(path)) || (await bodyOf(path)) : '';
      ids.set(path, new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)));
    }
    const wrong: string[] = [];
    for (const { path } of html) {
      expect(paths.has(`${path}.md`)).toBe(true);
      for (const [, link = ''] of (await read(path)).matchAll(/href="([^"]+)"/g)) {
        const [target = '', fragment] = link.split('#');
        const page = target === '' ? path : target;
        if (/^https?:/.test(link) || elsewhere.has(page)) continue;
        const isFound =
          paths.has(page) && (fragment === undefined || fragment.startsWith('/') || ids.get(page)?.has(fragment));
        if (!isFound) wrong.push(`${path}: ${link}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('shows an operation with its own codes and its recorded exchange', async () => {
    const page = await read('/docs/api/resource.md');
    expect(page).toContain('## Creates a document, table, artifact or folder {#createResource}');
    expect(page).toContain('[`parent_not_container`](/docs/errors#parent_not_container)');
    expect(page).toContain('curl -X POST "$COMMONPLACE_URL/api/v1/resources"');
    expect(page).toContain('requests.post(');
    expect(page).toContain('The answer, with the status 201:');
    expect(await read('/docs/api/resource')).toMatch(
      /<details><summary>TypeScript<\/summary><pre[^>]*><code>const response/,
    );
  });

  test('lists exactly the codes that each operation can return', async () => {
    const { paths, components } = document as unknown as {
      readonly paths: Record<
        string,
        Record<string, { operationId: string; responses: Record<string, { $ref?: string }> }>
      >;
      readonly components: { readonly responses: Record<string, { 'x-codes'?: readonly string[] }> };
    };
    const pages = await Promise.all((await library).map(({ path }) => (path.endsWith('.md') ? read(path) : '')));
    const sections = new Map(
      pages.flatMap((page) => page.split('\n## ').map((text) => [/\{#(\w+)\}/.exec(text)?.[1] ?? '', text] as const)),
    );
    for (const { operationId, responses } of Object.values(paths).flatMap((item) => Object.values(item))) {
      const given = Object.values(responses).flatMap(
        ({ $ref = '' }) => components.responses[$ref.split('/').at(-1) ?? '']?.['x-codes'] ?? [],
      );
      const listed = [...(sections.get(operationId) ?? '').matchAll(/\(\/docs\/errors#(\w+)\)/g)].map(
        ([, code]) => code,
      );
      expect([operationId, ...[...new Set(listed)].sort()]).toEqual([operationId, ...[...new Set(given)].sort()]);
    }
  });

  test('has the errors as Markdown too', async () => {
    const text = await read('/docs/errors.md');
    for (const codes of Object.values(ERROR_CODES))
      for (const [code, meaning] of Object.entries(codes)) expect(text).toContain(`| \`${code}\` | ${meaning} |`);
  });

  test('spells out the types', async () => {
    const page = await read('/docs/api/schemas.md');
    for (const name of ['Resource', 'TableColumn', 'Scope', 'FormField', 'DocumentBlock'])
      expect(page).toContain(`## ${name} {#${name}}`);
  });

  test('lists its pages for language models, with URLs', async () => {
    const text = await read('/llms.txt');
    expect(text).toMatch(/^# Commonplace\n\n> /);
    for (const [, url = ''] of text.matchAll(/\]\((https:[^)]+)\)/g)) {
      const { origin, pathname } = new URL(url);
      expect([origin, pathname === '/api/v1/openapi.json' || (await read(pathname)) !== '']).toEqual([
        'https://a.example',
        true,
      ]);
    }
  });

  test('has every operation in the Postman collection, as it was sent', async () => {
    const { item } = JSON.parse(await read('/docs/api/postman.json')) as { item: { item: { name: string }[] }[] };
    expect(item.flatMap((folder) => folder.item)).toHaveLength(Object.keys(examples).length);
  });

  test('has a collection whose requests use variables for ids, and whose responses were recorded', async () => {
    interface Item {
      readonly request: { readonly body?: { readonly raw: string } };
      readonly response: readonly { readonly code: number; readonly body: string }[];
    }
    const text = await read('/docs/api/postman.json');
    const { item, variable } = JSON.parse(text) as {
      item: { item: Item[] }[];
      variable: { key: string; value: string }[];
    };
    expect(variable.map(({ key, value }) => `${key}=${value}`)).toEqual([
      'base_url=https://a.example',
      ...['api_key=', 'workspace_id=', 'document_id='],
    ]);
    const items = item.flatMap((folder) => folder.item);
    expect(items.map(({ response }) => response.map(({ code }) => code < 300))).toEqual(items.map(() => [true]));
    expect(
      items.flatMap(({ request }) => request.body?.raw.match(/00000000-0000-4000-8000-00000000000[12]/g) ?? []),
    ).toEqual([]);
  });

  test('renders the changelog', async () => {
    expect(await read('/docs/changelog')).toContain('<h2 id="unreleased">Unreleased</h2>');
  });
});

describe('docsHtml', () => {
  test('escapes HTML, and turns links between files into links to their pages', () => {
    expect(docsHtml('<script>a</script>')).toContain('&lt;script&gt;');
    const html = docsHtml('[a](../chat.md#ask) [b](tables.md) [c](../decisions/0001-x.md)', 'guides/x.md');
    expect(html).toBe('<p><a href="/docs/topics/chat#ask">a</a> <a href="/docs/guides/tables">b</a> <a>c</a></p>\n');
  });
});

describe('createWrittenPages', () => {
  const page = createWrittenPages('https://a.example');
  const textOf = async (path: string) => new TextDecoder().decode((await page(path))?.body);

  test('writes the OpenAPI document and the pages of one contract', async () => {
    const { servers, paths } = JSON.parse(await textOf('/api/v1/openapi.json'));
    expect(servers).toEqual([{ url: 'https://a.example' }]);
    expect(Object.keys(paths)).toContain('/api/v1/resources/{resource_id}');
    expect(await textOf('/docs/api/schemas.md')).toMatch(/^# /);
    expect(await page('/docs/api/nothing')).toBeUndefined();
  });

  test('does not block the event loop meanwhile', async () => {
    const other = createWrittenPages('https://b.example');
    const start = performance.eventLoopUtilization();
    const began = performance.now();
    await other('/docs/api/schemas');
    const { active } = performance.eventLoopUtilization(start);
    // The thread needs most of a second for what this one only waits for.
    expect(active).toBeLessThan((performance.now() - began) / 2);
  });

  test('caches what was written', async () => {
    expect(await page('/llms.txt')).toBe(await page('/llms.txt'));
  });
});
