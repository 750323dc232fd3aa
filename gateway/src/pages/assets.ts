import { hash } from 'node:crypto';
import type Router from '@koa/router';
import { SCRIPT } from './form/script.js';
import { ICON_SVG } from './icon.js';
import { PAGES_CSS } from './styles/index.js';

/** What pages load: its path tells its bytes, so that a browser may keep it for good. */
export interface Asset {
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer;
}

export const STYLES = asset('pages', 'css', 'text/css; charset=utf-8', PAGES_CSS);
export const ICON = asset('icon', 'svg', 'image/svg+xml', ICON_SVG);
export const FORM_SCRIPT = asset('form', 'js', 'text/javascript; charset=utf-8', SCRIPT);

function asset(name: string, kind: string, contentType: string, text: string): Asset {
  return {
    path: `/assets/${name}-${hash('sha256', text, 'hex').slice(0, 12)}.${kind}`,
    contentType,
    body: Buffer.from(text),
  };
}

/** Serves them under every host that the server is reached by. */
export function mountAssets(router: Router, assets: readonly Asset[]): void {
  for (const { path, contentType, body } of assets) {
    router.get(path, (ctx) => {
      ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
      // A style and a picture can do nothing here, whoever opens them.
      ctx.set('Content-Security-Policy', "default-src 'none'; sandbox");
      ctx.type = contentType;
      ctx.body = body;
    });
  }
}
