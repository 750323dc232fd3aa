import type { Context } from 'koa';
import { sitePage } from '../page/site.js';
import { errorPage } from './pages.js';
import { orPage, sendPage } from './respond.js';

/** Returns whether a client is a browser that opens a page. Programs take any type, or name JSON. */
export const opensPage = (ctx: Context): boolean => ctx.get('Accept').includes('text/html');

/** Serves a page. Errors that it has no page of its own for are answered to browsers with one. */
export async function orErrorPage(ctx: Context, serve: () => Promise<void>): Promise<void> {
  if (opensPage(ctx)) await orPage(ctx, serve, errorPage);
  else await serve();
}

/** Responds that this server has no page with the address. */
export function sendNotFound(ctx: Context): void {
  sendPage(ctx, 404, notFoundPage());
}

function notFoundPage(): string {
  return sitePage({
    title: 'Not found',
    width: 'form',
    children: (
      <>
        <h1>There is no such page</h1>
        <p>The address may be misspelt, or it belongs to a form that only this server’s pages send.</p>
        <p>
          <a href="/auth/sign-in">Go to your account</a> · <a href="/docs">Read the documentation</a>
        </p>
      </>
    ),
  });
}
