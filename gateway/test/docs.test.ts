import { describe, expect, test } from '@jest/globals';
import { changelogPage, readChangelog } from '../src/docs/changelog.js';
import { createDocs, DOCS_CSP } from '../src/docs/pages.js';
import { ERROR_CODES } from '../src/openapi/error-codes.js';
import { ICON, STYLES } from '../src/pages/assets.js';

const docs = createDocs({ title: 'A & <B>', openApiPath: '/api/v1/openapi.json' });
const bodyOf = async (path: string) => (await docs.find((each) => each.path === path)?.body())?.toString('utf8') ?? '';

describe('createDocs', () => {
  test('serves all that its pages load, from its own origin', async () => {
    for (const { path, contentType } of docs.filter((each) => each.contentType.startsWith('text/html'))) {
      const html = await bodyOf(path);
      expect(contentType).toBe('text/html; charset=utf-8');
      for (const [, url = ''] of html.matchAll(/<(?:link|script|img) [^>]*(?:src|href)="([^"]+)"/g)) {
        expect([...docs, STYLES, ICON].map((each) => each.path)).toContain(url);
      }
    }
    expect(await bodyOf('/docs')).toContain('<title>A &amp; &lt;B> · Commonplace</title>');
  });

  test('has nothing inline, and a policy that says so', async () => {
    expect(DOCS_CSP).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/);
    expect(DOCS_CSP).not.toMatch(/unsafe|\*|http/);
    for (const path of ['/docs', '/docs/errors']) {
      expect(await bodyOf(path)).not.toMatch(/<script>|<style|style=|\son\w+=|javascript:/);
    }
    expect(docs.every((each) => each.contentSecurityPolicy === DOCS_CSP)).toBe(true);
  });

  test('names the document to the page', async () => {
    expect(await bodyOf('/docs')).toContain('data-document="/api/v1/openapi.json"');
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

describe('the changelog', () => {
  test('is the project’s own, as text', async () => {
    const markdown = (await readChangelog()) ?? '';
    expect(markdown).toMatch(/^# Changelog/);
    expect(changelogPage('# Changelog\n\n- <b> & more\n')).toContain('<pre>- &lt;b> &amp; more\n</pre>');
  });

  test('may be missing', async () => {
    expect(await readChangelog('/nowhere/CHANGELOG.md')).toBeUndefined();
  });
});
