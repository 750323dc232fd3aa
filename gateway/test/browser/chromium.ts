import { CHROMIUM, chromiumFlags } from '@commonplace/kit/testing';
import { type Browser, chromium } from 'playwright-core';

export const PHONE = { width: 390, height: 844 };
export const DESKTOP = { width: 1280, height: 800 };

/** With features that are `off` besides those of all tests. */
export const openBrowser = (flags: readonly string[] = [], off: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: [...chromiumFlags(off), ...flags] });

/** A port that a page's address can name before its server listens there. */
export async function freePort(): Promise<number> {
  const script = new URL('../../../../scripts/ports.mjs', import.meta.url).href;
  return ((await import(script)) as { freePort(): Promise<number> }).freePort();
}
