import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { h } from 'preact';
import { sitePage } from '../page/site.js';
import { errorCatalogue } from './error-catalogue.js';
import { docsHtml, titleOf } from './markdown.js';
import { EXPLORER_PATH } from './reference/chapter.js';

/** A page, or a file that a page loads. It is served unchanged. */
export interface DocPage {
  readonly path: string;
  readonly contentType: string;
  readonly contentSecurityPolicy: string;
  /** Returns the content, which is created on first use and cached. */
  body(): Promise<Buffer>;
}

export const API_TITLE = 'Commonplace API';
export const OPENAPI_PATH = '/api/v1/openapi.json';

/**
 * Content Security Policy that allows scripts, styles and calls of this origin only, and nothing inline. Icons in the
 * styles use `data:` URLs.
 */
export const DOCS_CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Returns the API explorer with the files that it loads, and the error catalogue. */
export function createDocs(): DocPage[] {
  return [
    docFile(EXPLORER_PATH, HTML, explorer),
    docFile('/docs/errors', HTML, errorCatalogue),
    docFile('/docs/init.js', SCRIPT, () => INIT),
    asset('swagger-ui.css', STYLE),
    asset('swagger-ui-bundle.js', SCRIPT),
  ];
}

/**
 * Returns a page and its Markdown source, which is served at the same path with `.md`. `file` is the path of the source
 * below `docs/`.
 */
export function markdownPages(path: string, read: () => Promise<string>, file?: string): DocPage[] {
  const html = async () => {
    const markdown = await read();
    const children = h('div', { class: 'docs', dangerouslySetInnerHTML: { __html: docsHtml(markdown, file) } });
    return sitePage({ title: titleOf(markdown), path, children });
  };
  return [docFile(path, HTML, html), docFile(`${path}.md`, MARKDOWN, read)];
}

const HTML = 'text/html; charset=utf-8';
export const MARKDOWN = 'text/markdown; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** Returns a file whose text is generated on first use. */
export function docFile(path: string, contentType: string, write: () => string | Promise<string>): DocPage {
  return lazily(path, contentType, async () => Buffer.from(await write()));
}

function asset(name: string, contentType: string): DocPage {
  const { resolve } = createRequire(import.meta.url);
  return lazily(`/docs/${name}`, contentType, () => readFile(resolve(`swagger-ui-dist/${name}`)));
}

function lazily(path: string, contentType: string, read: () => Promise<Buffer>): DocPage {
  let body: Promise<Buffer> | undefined;
  return {
    path,
    contentType,
    contentSecurityPolicy: DOCS_CSP,
    body: () => {
      body ??= read().catch((error: unknown) => {
        body = undefined;
        throw error;
      });
      return body;
    },
  };
}

function explorer(): string {
  return sitePage({
    title: API_TITLE,
    path: EXPLORER_PATH,
    width: 'full',
    styles: ['/docs/swagger-ui.css'],
    scripts: ['/docs/swagger-ui-bundle.js', '/docs/init.js'],
    attributes: { 'data-document': OPENAPI_PATH },
    children: h('div', { id: 'explorer' }),
  });
}

/**
 * Script of the explorer. It sends calls to the origin of the page, whatever other names the server has, because the
 * policy blocks all others. A call carries the entered API key, or else the browser's session and its CSRF token. It
 * never carries both, because the API refuses that; entering a key is therefore enough.
 */
const INIT = `'use strict';
const dark = matchMedia('(prefers-color-scheme: dark)');
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', paint);
paint();

const csrfToken = async () => {
  const answer = await fetch('/auth/session');
  return answer.ok ? (await answer.json()).data.csrf_token : undefined;
};
const WORKSPACE = '00000000-0000-4000-8000-000000000001';
const DOCUMENT = '00000000-0000-4000-8000-000000000002';
const putOwnIds = async (request) => {
  const put = (id, own) => {
    if (own) request.body = request.body.replaceAll(id, own.id);
  };
  if (typeof request.body !== 'string' || !(request.body.includes(WORKSPACE) || request.body.includes(DOCUMENT))) return;
  const { Authorization } = request.headers;
  const first = async (path) => {
    const options = Authorization ? { headers: { Authorization }, credentials: 'omit' } : {};
    const answer = await fetch('/api/v1' + path, options);
    return answer.ok ? (await answer.json()).data.items[0] : undefined;
  };
  const [, named] = /\\/workspaces\\/([\\w-]{36})/.exec(request.url) ?? [];
  const workspace = named ? { id: named } : await first('/workspaces?limit=1');
  if (!workspace) return;
  put(WORKSPACE, workspace);
  if (!request.body.includes(DOCUMENT)) return;
  put(DOCUMENT, await first('/workspaces/' + workspace.id + '/resources?recursive=true&type=document&limit=1'));
};
const prepare = async (request) => {
  await putOwnIds(request);
  if (request.headers.Authorization) request.credentials = 'omit';
  else if (request.method && request.method !== 'GET' && !request.headers['X-CSRF-Token']) {
    const token = await csrfToken();
    if (token) request.headers['X-CSRF-Token'] = token;
  }
  return request;
};

fetch(document.body.dataset.document)
  .then((answer) => answer.json())
  .then(({ servers, ...spec }) => {
    const { bearer } = spec.components.securitySchemes;
    spec.components.securitySchemes = { bearer };
    window.SwaggerUIBundle({
      domNode: document.getElementById('explorer'),
      spec,
      requestInterceptor: prepare,
      deepLinking: true,
      displayOperationId: true,
      displayRequestDuration: true,
      docExpansion: 'none',
      filter: true,
      validatorUrl: null,
    });
  });
`;
