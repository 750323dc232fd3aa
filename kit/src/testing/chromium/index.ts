import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { PATIENCE } from '../patience/index.js';

/** The browser for tests, which are skipped without it. */
export const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
export const hasBrowser = existsSync(CHROMIUM);

/**
 * Disabled features. Playwright names some of them too, but Chromium uses the last list that it is given. Those of the
 * address bar open two internal pages for every window, which cost more than most pages under test.
 */
const OFF = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
];

/** Returns the flags with which tests start it; `off` names further features to disable. */
export const chromiumFlags = (off: readonly string[] = []): string[] => [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${[...OFF, ...off].join(',')}`,
];

/** The part of Playwright's `Browser` that tests use. */
interface Contexts<Options, Context> {
  newContext(options?: Options): Promise<Context>;
}

/** Playwright's default timeout of a step in a page, in milliseconds. */
const STEP_MS = 30_000;

/** Returns the browser with timeouts of its pages multiplied by `PATIENCE`. */
export function withPatience<
  Options,
  Context extends { setDefaultTimeout(ms: number): void },
  Browser extends Contexts<Options, Context>,
>(browser: Browser & Contexts<Options, Context>): Browser {
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(STEP_MS * PATIENCE);
    return context;
  };
  return browser;
}

/** Returns the accessibility violations of a page, by WCAG 2.2 and best practices; the page needs scripts. */
export async function barriersOf(page: { evaluate(script: string): Promise<unknown> }): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // The browser itself evaluates the script, because the page's own policy lets no script in.
  await page.evaluate(axe);
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`);
}
