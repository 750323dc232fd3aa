import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

export const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const PHONE = { width: 390, height: 844 };
export const DESKTOP = { width: 1280, height: 800 };

export const hasBrowser = existsSync(CHROMIUM);

export const openBrowser = (flags: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS, ...flags] });

/** A port that a page's address can name before its server listens there. */
export async function freePort(): Promise<number> {
  const script = new URL('../../../../scripts/ports.mjs', import.meta.url).href;
  return ((await import(script)) as { freePort(): Promise<number> }).freePort();
}
