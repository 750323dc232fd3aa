import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import type { Content, List, Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

const SAMPLE = 'Welcome to Commonplace';
/** Written with the last document of the sample. */
const LAST_WORDS = 'security';

let system: OwnSystem;
let by: Api;
let workspace: Workspace;
let documents: readonly Resource[];

beforeAll(async () => {
  system = await startSystem({ COMMONPLACE_SAMPLE: '1' });
  by = api(system, system.owner.apiKey);
  await eventually(async () => {
    const found = (await by.get<List<Workspace>>('/workspaces')).data.items.find(({ name }) => name === SAMPLE);
    expect(found).toBeDefined();
    workspace = found as Workspace;
    const { items } = (await by.get<List<Resource>>(`/workspaces/${workspace.id}/resources?recursive=true&limit=200`))
      .data;
    documents = items.filter(({ type }) => type === 'document');
    expect(documents.map(({ name }) => name.toLowerCase())).toContain(LAST_WORDS);
    for (const { id } of documents) expect(String((await contentOf(id)).content)).not.toBe('');
  }, 60_000);
}, 180_000);
afterAll(() => system?.stop());

const contentOf = async (id: string): Promise<Content> => (await by.get<Content>(`/resources/${id}/content`)).data;

test('every link and picture of the sample documents leads to a resource or within its document', async () => {
  let links = 0;
  for (const { id, name } of documents) {
    const text = String((await contentOf(id)).content).replace(/^```[\s\S]*?^```|`[^`\n]*`/gm, '');
    for (const [, image, target = ''] of text.matchAll(/(!?)\[[^\]]*\]\(([^)\s]+)\)/g)) {
      links += 1;
      if (/^(?:https?:|#)/.test(target)) continue;
      const [, linked] = /^resource:([\w-]+)/.exec(target) ?? [];
      expect({ name, target, linked: linked ?? 'no resource' }).toEqual({ name, target, linked });
      const { status, data } = await by.get<Resource>(`/resources/${linked}`);
      expect({ name, target, status }).toEqual({ name, target, status: 200 });
      if (image === '!') expect(data.type).toBe('file');
    }
  }
  expect(links).toBeGreaterThan(20);
}, 120_000);

test('every link, anchor and picture of the published sample is reachable', async () => {
  const published = await by.post<{ url: string }>(`/workspaces/${workspace.id}/publish`, { visibility: 'unlisted' });
  const home = new URL(published.data.url).pathname;
  const pages = new Map<string, string>();
  const open = async (path: string): Promise<string> => {
    const known = pages.get(path);
    if (known !== undefined) return known;
    const answer = await fetch(new URL(path, system.baseUrl));
    expect({ path, status: answer.status }).toEqual({ path, status: 200 });
    const text = answer.headers.get('content-type')?.startsWith('text/html') ? await answer.text() : '';
    pages.set(path, text);
    return text;
  };
  const waiting = [home];
  const seen = new Set(waiting);
  const broken: string[] = [];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const html = await open(path);
    for (const [, address = ''] of html.matchAll(/\b(?:href|src)="([^"]+)"/g)) {
      const url = new URL(address.replaceAll('&amp;', '&'), new URL(path, system.baseUrl));
      if (url.origin !== new URL(system.baseUrl).origin || !url.pathname.startsWith(home)) continue;
      const to = url.pathname + url.search;
      const target = await open(to);
      const id = decodeURIComponent(url.hash.slice(1));
      if (id !== '' && !target.includes(` id="${id}"`)) broken.push(`${path}: ${address}`);
      if (!seen.has(to)) waiting.push(to);
      seen.add(to);
    }
  }
  expect(broken).toEqual([]);
  const pictures = [...seen].filter((path) => path.includes('/files/'));
  expect(pictures.length).toBeGreaterThan(5);
}, 180_000);
