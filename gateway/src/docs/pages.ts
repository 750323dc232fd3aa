import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { h } from 'preact';
import { errorCatalogue } from './error-catalogue.js';
import { sitePage } from './site.js';

/** A page or a part of one, to be served as it is. */
export interface DocPage {
  readonly path: string;
  readonly contentType: string;
  readonly contentSecurityPolicy: string;
  /** The bytes; read when first asked for, and kept. */
  body(): Promise<Buffer>;
}

export interface DocOptions {
  readonly title: string;
  /** Where the OpenAPI document is served: `/api/v1/openapi.json`. */
  readonly openApiPath: string;
}

/** Scripts, styles and calls of this origin alone, nothing inline; the styles draw icons from `data:` URLs. */
export const DOCS_CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The documentation: the API's own page at `/docs`, what errors mean at `/docs/errors`, and what these load. */
export function createDocs({ title, openApiPath }: DocOptions): DocPage[] {
  return [
    text('/docs', HTML, () => explorer(title, openApiPath)),
    text('/docs/errors', HTML, errorCatalogue),
    text('/docs/init.js', SCRIPT, () => INIT),
    asset('swagger-ui.css', STYLE),
    asset('swagger-ui-bundle.js', SCRIPT),
  ];
}

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

function text(path: string, contentType: string, write: () => string): DocPage {
  return lazily(path, contentType, async () => Buffer.from(write()));
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

function explorer(title: string, openApiPath: string): string {
  return sitePage({
    title,
    path: '/docs',
    width: 'full',
    styles: ['/docs/swagger-ui.css'],
    scripts: ['/docs/swagger-ui-bundle.js', '/docs/init.js'],
    attributes: { 'data-document': openApiPath },
    children: h('div', { id: 'explorer' }),
  });
}

/**
 * Calls go to the origin that the page came from, whatever other names the server has, for the policy
 * lets no other pass. What is tried out goes with the key that was typed in, or else with the browser's
 * session and its token; never with both, which the API refuses. So a key is all there is to type in.
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
const prepare = async (request) => {
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
