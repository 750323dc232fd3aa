import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CHROMIUM, hasBrowser } from '@commonplace/kit/testing';
import { framePolicy, readerPolicy } from '@commonplace/site/page';
import { proseOf, readerPage } from '@commonplace/site/reader';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import MarkdownIt from 'markdown-it';
import type { Browser, Frame } from 'playwright-core';
import { pageAt } from '../pages/fixture.js';
import { openBrowser } from './chromium.js';
import { PAYLOADS, type Payload } from './hostile.js';

const inBrowser = hasBrowser ? describe : describe.skip;

/** Functions of the resources service that derive HTML; the gateway receives only their output. */
interface Documents {
  parseMarkdown(text: string): unknown;
  parseHtml(text: string): { doc?: unknown };
  toHtml(doc: unknown): { html: string };
}

const DOCUMENTS = new URL('../../../../services/resources/dist/src/documents/index.js', import.meta.url);

/** Renders Markdown without any protection: with its HTML, and with links to anywhere. */
const careless = Object.assign(new MarkdownIt({ html: true, linkify: true }), { validateLink: () => true });

interface Guards {
  readonly sanitised: boolean;
  readonly policy: string | undefined;
}

inBrowser(`hostile documents in a browser (skipped without ${CHROMIUM})`, () => {
  let documents: Documents;
  let server: Server;
  let browser: Browser;
  let contents: string[] = [];
  let guards: Guards = { sanitised: true, policy: undefined };
  const contentOf = ({ kind, text }: Payload): string => {
    if (!guards.sanitised) return kind === 'markdown' ? careless.render(text) : text;
    // Markdown may contain HTML, and what is written as HTML is a document of its own, so both are tested.
    const parsed = documents.parseHtml(text);
    const ways = [documents.parseMarkdown(text), parsed.doc ?? parsed].map((doc) => documents.toHtml(doc).html);
    return ways.map(proseOf).join('\n');
  };

  /** Renders a page with one frame per content, named by its index. */
  const allInFrames = (): string =>
    `<!doctype html>${contents.map((_, i) => `<iframe name="${i}" src="/payload/${i}"></iframe>`).join('')}`;

  const answerOf = (number: number): string => {
    const shell = readerPage(pageAt('', 0, 'CONTENT') as never, { src: '/', scripts: false });
    return shell.replace('CONTENT', () => contents[number] ?? '');
  };

  beforeAll(async () => {
    documents = (await import(pathToFileURL(fileURLToPath(DOCUMENTS)).href)) as Documents;
    server = createServer((request, response) => {
      const send = (html: string, policy?: string) =>
        response
          .writeHead(200, {
            'Content-Type': 'text/html; charset=utf-8',
            ...(policy === undefined ? {} : { 'Content-Security-Policy': policy }),
          })
          .end(html);
      const [, number] = /^\/payload\/(\d+)$/.exec(request.url ?? '') ?? [];
      // Every other host name resolves to this server too, which answers any request with a script that reports that it
      // ran.
      if (!request.headers.host?.startsWith('127.0.0.1:')) {
        response.writeHead(200, { 'Content-Type': 'text/javascript' }).end('alert(1)');
      } else if (request.url === '/all') send(allInFrames());
      else if (number !== undefined) send(answerOf(Number(number)), guards.policy);
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const flags = [`--host-resolver-rules=MAP * 127.0.0.1:${portOf(server)}`, '--disable-site-isolation-trials'];
    browser = await openBrowser(flags, ONE_PROCESS);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await new Promise((resolve) => server?.close(resolve));
  });

  /**
   * Opens payloads side by side, and does with each what a visitor could do. Returns the indexes of those whose script
   * ran.
   */
  async function runAll(under: Guards, chosen = PAYLOADS.map((_, index) => index)): Promise<number[]> {
    guards = under;
    // Payloads that the sanitizer turns into the same page are opened once.
    const sources = new Map<string, number[]>();
    for (const index of chosen) {
      const content = contentOf(PAYLOADS[index] as Payload);
      sources.set(content, [...(sources.get(content) ?? []), index]);
    }
    contents = [...sources.keys()];
    const ran = new Set<string>();
    const touched = new Set<string>();
    let heardAt = 0;
    const context = await browser.newContext({ baseURL: `http://127.0.0.1:${portOf(server)}` });
    await context.exposeBinding('scriptRan', ({ frame }) => {
      const { size } = ran;
      for (let at: Frame | null = frame; at !== null; at = at.parentFrame()) if (at.name() !== '') ran.add(at.name());
      // Some scripts run over and over.
      if (ran.size > size) heardAt = performance.now();
    });
    await context.exposeBinding('wasTouched', ({ frame }) => {
      if (!touched.has(frame.name())) heardAt = performance.now();
      touched.add(frame.name());
    });
    await context.addInitScript(TOUCH);
    const page = await context.newPage();
    context.on('page', (opened) => opened.close().catch(() => {}));
    await page.goto('/all', { timeout: LOAD_MS });
    heardAt = performance.now();
    const silence = () => (contents.every((_, i) => touched.has(String(i))) ? SETTLE_MS : SILENCE_MS);
    while (performance.now() - heardAt < silence()) await page.waitForTimeout(50);
    await context.close();
    return [...ran].flatMap((name) => [...sources.values()][Number(name)] ?? []).sort((a, b) => a - b);
  }

  let unguarded: number[] = [];
  const textsOf = (indices: readonly number[]) => indices.map((index) => PAYLOADS[index]?.text);

  test('there are many payloads, and most run without protection', async () => {
    for (const kind of ['html', 'svg', 'markdown']) {
      expect(PAYLOADS.filter((payload) => payload.kind === kind).length).toBeGreaterThanOrEqual(30);
    }
    expect(PAYLOADS.length).toBeGreaterThanOrEqual(150);
    unguarded = await runAll({ sanitised: false, policy: undefined });
    expect(unguarded.length).toBeGreaterThanOrEqual(150);
  }, 300_000);

  test('no payload runs with the sanitiser alone', async () => {
    expect(textsOf(await runAll({ sanitised: true, policy: undefined }))).toEqual([]);
  }, 300_000);

  // A policy only takes away: a script that did not run without one does not run with it, so only the others are tried.
  test('no payload runs with the policy of a published page alone', async () => {
    const policy = readerPolicy();
    expect(textsOf(await runAll({ sanitised: false, policy: inFrames(policy) }, unguarded))).toEqual([]);
  }, 300_000);

  test('no payload runs in the frame of an artifact on the product’s own host', async () => {
    const policy = framePolicy({ scripts: false, pictures: "'self'", ancestors: ["'self'"] });
    expect(textsOf(await runAll({ sanitised: false, policy }, unguarded))).toEqual([]);
  }, 300_000);
});

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** Sandboxed frames share a process: what a policy allows is the same, and a process for each takes twice the time. */
const ONE_PROCESS = ['IsolateSandboxedIframes'];

/** Returns the policy for a page that these tests show in a frame. */
function inFrames(policy: string): string {
  const open = policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'");
  expect(open).not.toBe(policy);
  return open;
}

/** Milliseconds for all frames to load. */
const LOAD_MS = 120_000;
/** Milliseconds of silence from all frames, once each has reported, after which the test ends. */
const SETTLE_MS = 1500;
/** Milliseconds of silence after which frames that never reported are not waited for. */
const SILENCE_MS = 4000;

/**
 * Script that runs in every frame: reports scripts that run, triggers every event handler, and clicks every element.
 */
const TOUCH = `(() => {
  alert = prompt = confirm = print = () => scriptRan();
  const touch = () => {
    for (const element of [document.documentElement, ...document.querySelectorAll('body, body *')]) {
      try {
        for (const { name } of [...element.attributes]) {
          if (/^on/i.test(name)) element.dispatchEvent(new Event(name.slice(2), { bubbles: false }));
        }
        if (element.closest('header, nav, .about') || element === document.body) continue;
        element.dispatchEvent(new MouseEvent('click', { bubbles: false, cancelable: true }));
      } catch {}
    }
    wasTouched();
  };
  addEventListener('DOMContentLoaded', () => setTimeout(touch, 50));
})()`;
