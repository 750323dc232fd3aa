import { CHROMIUM, chromiumFlags, withPatience } from '@commonplace/kit/testing/chromium';
import { type Browser, chromium } from 'playwright-core';

export const PHONE = { width: 390, height: 844 };
export const DESKTOP = { width: 1280, height: 800 };

/** Starts Chromium; `off` names features to disable besides those that all tests disable. */
export async function openBrowser(flags: readonly string[] = [], off: readonly string[] = []): Promise<Browser> {
  return withPatience(await chromium.launch({ executablePath: CHROMIUM, args: [...chromiumFlags(off), ...flags] }));
}

/** Returns a free port, so that a page's address can name it before its server listens. */
export async function freePort(): Promise<number> {
  const script = new URL('../../../../scripts/ports.mjs', import.meta.url).href;
  return ((await import(script)) as { freePort(): Promise<number> }).freePort();
}
