import { CHROMIUM, chromiumFlags, withPatience } from '@commonplace/kit/testing';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

export async function openBrowser(flags: readonly string[] = []): Promise<Browser> {
  return withPatience(await chromium.launch({ executablePath: CHROMIUM, args: [...chromiumFlags(), ...flags] }));
}

/** A browser of a person without an account. */
export interface Visitor {
  readonly page: Page;
  /** Requests to other hosts, policy violations and script errors. */
  readonly trouble: readonly string[];
  /** Answered requests to the page's own host, with their statuses. */
  readonly answers: readonly { readonly url: string; readonly status: number }[];
  close(): Promise<void>;
}

export async function openVisitor(
  browser: Browser,
  options: BrowserContextOptions & { baseURL: string },
): Promise<Visitor> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const trouble: string[] = [];
  const answers: { url: string; status: number }[] = [];
  const { host } = new URL(options.baseURL);
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'data:' && url.host !== host) trouble.push(`asked ${request.url()}`);
  });
  page.on('response', (response) => answers.push({ url: response.url(), status: response.status() }));
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) trouble.push(message.text());
  });
  page.on('pageerror', (error) => trouble.push(error.message));
  return { page, trouble, answers, close: () => context.close() };
}
