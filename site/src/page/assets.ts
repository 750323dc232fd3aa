import { hash } from 'node:crypto';
import { NOTHING_ALLOWED } from '@commonplace/kit/http';
import type Router from '@koa/router';
import { SCRIPT } from './form-script.js';
import { ICON_SVG } from './icon.js';
import { SCRIPT as PASSKEYS } from './passkey-script.js';
import { PAGES_CSS } from './styles/index.js';

/** A file that pages load. Its path contains a hash of its content, so that browsers may cache it forever. */
interface Asset {
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer;
}

export const STYLES = asset('pages', 'css', 'text/css; charset=utf-8', PAGES_CSS);
export const ICON = asset('icon', 'svg', 'image/svg+xml; charset=utf-8', ICON_SVG);
export const FORM_SCRIPT = asset('form', 'js', 'text/javascript; charset=utf-8', SCRIPT);
export const PASSKEY_SCRIPT = asset('passkey', 'js', 'text/javascript; charset=utf-8', PASSKEYS);

function asset(name: string, kind: string, contentType: string, text: string): Asset {
  return {
    path: `/assets/${name}-${hash('sha256', text, 'hex').slice(0, 12)}.${kind}`,
    contentType,
    body: Buffer.from(text),
  };
}

/** Serves assets under all host names of the server. */
export function mountAssets(router: Router, assets: readonly Asset[]): void {
  for (const { path, contentType, body } of assets) {
    router.get(path, (ctx) => {
      ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
      // An asset that is opened as a page is sandboxed.
      ctx.set('Content-Security-Policy', `${NOTHING_ALLOWED}; sandbox`);
      ctx.type = contentType;
      ctx.body = body;
    });
  }
}
