import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { errorCatalogue } from './error-catalogue.js';
import { page } from './html.js';

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
    text('/docs/errors', HTML, () => errorCatalogue(title)),
    text('/docs/init.js', SCRIPT, () => INIT),
    text('/docs/pages.css', STYLE, () => PAGES_CSS),
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
  return page({
    title,
    styles: ['/docs/swagger-ui.css'],
    scripts: ['/docs/swagger-ui-bundle.js', '/docs/init.js'],
    attributes: { 'data-document': openApiPath },
    body: '<div id="explorer"></div>',
  });
}

const INIT = `'use strict';
window.SwaggerUIBundle({
  domNode: document.getElementById('explorer'),
  url: document.body.dataset.document,
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  docExpansion: 'none',
  filter: true,
  validatorUrl: null,
});
`;

const PAGES_CSS = `body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
dt { font-weight: 600; margin-top: 1rem; }
dd { margin: 0; }
:target { background: #fff3bf; }
code { font-family: ui-monospace, monospace; }
@media (prefers-color-scheme: dark) { body { background: #16181d; color: #e6e6e6; } :target { background: #5c4b00; } }
`;
