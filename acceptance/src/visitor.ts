import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { CHROMIUM, chromiumFlags } from '@commonplace/kit/testing';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

export const openBrowser = (flags: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: [...chromiumFlags(), ...flags] });

/** Somebody with a browser and without an account. */
export interface Visitor {
  readonly page: Page;
  /** What was asked of other hosts, and what a policy or a script complained about. */
  readonly trouble: readonly string[];
  /** Requests of the page's own host that were answered, with their status. */
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

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What keeps people from using a page, by the rules of WCAG 2.2 and best practice; the page needs scripts. */
export async function barriersOf(page: Page): Promise<string[]> {
  // By the browser itself: the page's own policy lets no script in.
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`);
}
