import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import MarkdownIt from 'markdown-it';
import type { Browser, Frame } from 'playwright-core';
import { framePolicy, readerPolicy } from '../../src/pages/policies.js';
import { proseOf } from '../../src/pages/reader/prose.js';
import { readerPage } from '../../src/pages/reader/reader-page.js';
import { pageAt } from '../pages/fixture.js';
import { CHROMIUM, hasBrowser, openBrowser } from './chromium.js';
import { PAYLOADS, type Payload } from './hostile.js';

const inBrowser = hasBrowser ? describe : describe.skip;

/** How the resources service derives HTML; it is no part of the gateway, which gets what comes out. */
interface Documents {
  parseMarkdown(text: string): unknown;
  parseHtml(text: string): { doc?: unknown };
  toHtml(doc: unknown): { html: string };
}

const DOCUMENTS = new URL('../../../../services/resources/dist/src/documents/index.js', import.meta.url);

/** Markdown as nobody should render it: with its HTML, and with links to anywhere. */
const careless = Object.assign(new MarkdownIt({ html: true, linkify: true }), { validateLink: () => true });

interface Guards {
  readonly sanitised: boolean;
  readonly policy: string | undefined;
}

inBrowser(`hostile documents in a browser (skipped without ${CHROMIUM})`, () => {
  let documents: Documents;
  let server: Server;
  let browser: Browser;
  let batches: number[][] = [];
  let guards: Guards = { sanitised: true, policy: undefined };
  const contentOf = ({ kind, text }: Payload): string => {
    if (!guards.sanitised) return kind === 'markdown' ? careless.render(text) : text;
    // Markdown may hold HTML, and what is written as HTML is a document of its own.
    const parsed = documents.parseHtml(text);
    const ways = [documents.parseMarkdown(text), parsed.doc ?? parsed].map((doc) => documents.toHtml(doc).html);
    return ways.map(proseOf).join('\n');
  };

  /** Each in a frame of its own, whose name is its number. */
  const batchOf = (number: number): string =>
    `<!doctype html>${(batches[number] ?? []).map((i) => `<iframe name="${i}" src="/payload/${i}"></iframe>`).join('')}`;

  const answerOf = (index: number): string => {
    const shell = readerPage(pageAt('', 0, 'CONTENT') as never, { src: '/', scripts: false });
    return shell.replace('CONTENT', () => contentOf(PAYLOADS[index] as Payload));
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
      const [, kind, number = ''] = /^\/(batch|payload)\/(\d+)$/.exec(request.url ?? '') ?? [];
      if (kind === undefined) response.writeHead(404).end();
      else if (kind === 'batch') send(batchOf(Number(number)));
      else send(answerOf(Number(number)), guards.policy);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    browser = await openBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await new Promise((resolve) => server?.close(resolve));
  });

  /** Opens payloads, some side by side, and does with each what a visitor could do; gives those whose script ran. */
  async function runAll(under: Guards, chosen = PAYLOADS.map((_, index) => index)): Promise<number[]> {
    guards = under;
    batches = Array.from({ length: Math.ceil(chosen.length / BATCH) }, (_, i) =>
      chosen.slice(i * BATCH, (i + 1) * BATCH),
    );
    const ran = new Set<number>();
    const touched = new Set<string>();
    let heardAt = 0;
    const context = await browser.newContext({ baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    await context.exposeBinding('scriptRan', ({ frame }) => {
      for (let at: Frame | null = frame; at !== null; at = at.parentFrame())
        if (at.name() !== '') ran.add(Number(at.name()));
    });
    await context.exposeBinding('wasTouched', ({ frame }) => {
      touched.add(frame.name());
      heardAt = performance.now();
    });
    await context.addInitScript(TOUCH);
    // Whatever another host is asked for is a script that runs, if it can.
    await context.route(
      (url) => url.hostname !== '127.0.0.1',
      (route) =>
        route.request().resourceType() === 'script'
          ? route.fulfill({ contentType: 'text/javascript', body: 'alert(1)' })
          : route.abort(),
    );
    const page = await context.newPage();
    context.on('page', (opened) => opened.close().catch(() => {}));
    for (const number of batches.keys()) {
      await page.goto(`/batch/${number}`, { timeout: LOAD_MS }).catch(() => {});
      heardAt = performance.now();
      const all = (batches[number] ?? []).map(String);
      while (!all.every((name) => touched.has(name)) && performance.now() - heardAt < SILENCE_MS) {
        await page.waitForTimeout(50);
      }
      await page.waitForTimeout(SETTLE_MS);
    }
    await context.close();
    return [...ran].sort((a, b) => a - b);
  }

  let unguarded: number[] = [];
  const told = (indices: readonly number[]) => indices.map((index) => PAYLOADS[index]?.text);

  test('there are many of them, and most run where nothing guards', async () => {
    for (const kind of ['html', 'svg', 'markdown']) {
      expect(PAYLOADS.filter((payload) => payload.kind === kind).length).toBeGreaterThanOrEqual(30);
    }
    expect(PAYLOADS.length).toBeGreaterThanOrEqual(150);
    unguarded = await runAll({ sanitised: false, policy: undefined });
    expect(unguarded.length).toBeGreaterThanOrEqual(150);
  }, 300_000);

  test('none runs with the sanitiser alone', async () => {
    expect(told(await runAll({ sanitised: true, policy: undefined }))).toEqual([]);
  }, 300_000);

  // A policy takes away and adds nothing: what did not run without one does not with it.
  test('none runs with the policy of a published page alone', async () => {
    const policy = readerPolicy();
    expect(told(await runAll({ sanitised: false, policy: inFrames(policy) }, unguarded))).toEqual([]);
  }, 300_000);

  test('none runs in the frame of an artifact on the product’s own host', async () => {
    const policy = framePolicy({ scripts: false, pictures: "'self'", ancestors: ["'self'"] });
    expect(told(await runAll({ sanitised: false, policy }, unguarded))).toEqual([]);
  }, 300_000);
});

/** Payloads that are opened side by side. */
const BATCH = 80;

/** The same policy for a page that stands in a frame here. */
function inFrames(policy: string): string {
  const open = policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'");
  expect(open).not.toBe(policy);
  return open;
}

/** Milliseconds for what is set off to come to its end. */
const SETTLE_MS = 500;
/** Milliseconds for a batch to load; some never come to an end of it. */
const LOAD_MS = 20_000;
/** Milliseconds without a word from any frame after which those that have not spoken are not waited for. */
const SILENCE_MS = 3000;

/** In every frame: tells of scripts, sets off whatever hangs on an event, and follows links and buttons. */
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
