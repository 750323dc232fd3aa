import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { archive, importAll, inline, itemsOf } from '../src/imports.js';
import type { Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let system: System;
let by: Api;
let workspace: Workspace;
let pictures: Server;
let canary: Server;
let url: string;
let canaryUrl: string;
const asked: string[] = [];
const reached: string[] = [];

const portOf = (server: Server) => (server.address() as AddressInfo).port;
const listening = async (server: Server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

beforeAll(async () => {
  canary = createServer((request, response) => {
    reached.push(request.url ?? '');
    response.end(PNG);
  });
  await listening(canary);
  pictures = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url?.startsWith('/ok')) response.setHeader('Content-Type', 'image/png').end(PNG);
    else if (request.url === '/large.png') response.end(Buffer.concat([PNG, Buffer.alloc(200_000)]));
    else if (request.url === '/page.png') response.end('<html>This is no image.</html>');
    else if (request.url === '/away.png') response.writeHead(302, { Location: canaryUrl }).end();
    else response.writeHead(404).end();
  });
  await listening(pictures);
  url = `http://localhost:${portOf(pictures)}`;
  canaryUrl = `http://127.0.0.1:${portOf(canary)}/canary.png`;
  system = await standingSystem();
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Pictures' })).data;
});

afterAll(() => {
  pictures?.close();
  canary?.close();
});

const download = { source_type: 'markdown_zip', options: { download_remote_images: true } };

async function contentOf(name: string): Promise<{ id: string; text: string }> {
  const { data } = await by.get<{ items: Resource[] }>(`/workspaces/${workspace.id}/resources?type=document&q=${name}`);
  const { id } = data.items.find((one) => one.name === name) as Resource;
  return { id, text: String((await by.get(`/resources/${id}/content`)).data.content) };
}

test('external images of pages become files, and links lead to them', async () => {
  const pages = {
    'one.md': `# One\n\n![A](${url}/ok/a.png) and ![again](${url}/ok/a.png#part) <img src="${url}/ok/b%20b.png?x=1&amp;y=2">\n`,
    'two.md': `# Two\n\n![A][a] [a link](${url}/ok/never.png) \`![code](${url}/ok/code.png)\`\n\n[a]: ${url}/ok/a.png\n`,
  };
  const done = await importAll(by, workspace.id, { ...download, ...inline(archive(pages)), name: 'Shown' });
  expect(done).toMatchObject({ status: 'completed', warnings: [], stats: { documents: 2, files: 2 } });
  expect(asked.sort()).toEqual(['/ok/a.png', '/ok/b%20b.png?x=1&y=2']);
  const one = await contentOf('One');
  const two = await contentOf('Two');
  const ids = [...one.text.matchAll(/resource:([0-9a-f-]{36})/g)].map(([, id]) => id);
  expect(ids).toHaveLength(3);
  expect(ids[0]).toBe(ids[1]);
  expect(one.text).not.toContain(url);
  expect(two.text).toContain(`[a]: resource:${ids[0]}`);
  expect(two.text).toContain(`[a link](${url}/ok/never.png)`);
  expect(two.text).toContain(`![code](${url}/ok/code.png)`);
  const { data: image } = await by.get<Resource & { file: object }>(`/resources/${ids[0]}`);
  expect(image).toMatchObject({ name: 'a.png', type: 'file', parent_id: one.id, is_attachment: true });
  expect(image.file).toMatchObject({ content_type: 'image/png', size_bytes: PNG.length, status: 'ready' });
});

test('an image that cannot be fetched stays a link and is reported, and private addresses are not reached', async () => {
  const { port } = new URL(canaryUrl);
  const refused = [
    canaryUrl,
    `http://0x7f000001:${port}/x.png`,
    `http://[::1]:${port}/x.png`,
    `http://[::ffff:127.0.0.1]:${port}/x.png`,
    `http://2130706433:${port}/x.png`,
    'https://169.254.169.254/latest/meta-data/a.png',
    `http://user:secret@localhost:${portOf(pictures)}/ok/c.png`,
    ...['/away.png', '/none.png', '/page.png', '/large.png'].map((path) => `${url}${path}`),
  ];
  const text = `# Kept\n\n${[...refused, `${url}/ok/d.png`].map((one) => `![](${one})`).join('\n')}\n`;
  const done = await importAll(by, workspace.id, {
    ...download,
    ...inline(archive({ 'kept.md': text })),
    name: 'Kept',
  });
  expect(done).toMatchObject({ status: 'completed', stats: { documents: 1, files: 1 } });
  expect(done.warnings).toEqual([{ code: 'remote_images_kept', message: expect.stringContaining('11 remote images') }]);
  const kept = await contentOf('Kept');
  for (const one of refused) expect(kept.text).toContain(one);
  expect(kept.text).not.toContain('/ok/d.png');
  expect(reached).toEqual([]);
  const skipped = await itemsOf(by, done.id, 'skipped');
  expect(skipped.map(({ path, code }) => [path, code]).sort()).toEqual(
    refused.map((one) => [one, 'image_not_fetched']).sort(),
  );
  const { report } = (await by.get(`/imports/${done.id}`)).data as { report: string };
  expect(report).toContain(`${url}/large.png`);
  expect(report.replaceAll('\\', '')).toContain('COMMONPLACE_IMPORT_IMAGE_BYTES');
});

test('at most the configured number is fetched, none without the option, and none in a dry run', async () => {
  asked.length = 0;
  const text = `# Many\n\n${Array.from({ length: 20 }, (_, i) => `![](${url}/ok/many-${i}.png)`).join('\n')}\n`;
  const body = { ...download, ...inline(archive({ 'many.md': text })), name: 'Many' };
  await importAll(by, workspace.id, { ...body, dry_run: true });
  await importAll(by, workspace.id, { ...body, options: {} });
  expect(asked).toEqual([]);
  const done = await importAll(by, workspace.id, body);
  expect(done).toMatchObject({ status: 'completed', stats: { files: 14 } });
  expect(asked).toHaveLength(14);
});
