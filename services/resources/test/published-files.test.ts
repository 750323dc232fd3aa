import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { contracts } from '@commonplace/platform/contracts';
import { fake } from '@commonplace/platform/testing';
import { CopyFileResponse } from '@commonplace/proto/files/v1/file_text_service.js';
import { PublicationMode, PublicationVisibility } from '@commonplace/proto/resources/v1/publication.js';
import { ReaderFormat } from '@commonplace/proto/resources/v1/reader_service.js';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { opensBy, proofEnd, signPass } from '../src/publications/proofs.js';
import { HOST, openPublishingStage, type PublishingStage } from './publishing-stage.js';

let s: PublishingStage;
let boss: Caller;
let workspaceId: string;
/** The bytes in the fake files service, by file. */
const bytes = new Map<string, string>();

beforeAll(async () => {
  const files = fake(contracts.fileTexts, {
    readFile: async ({ resourceId, offset, length }) => {
      const whole = Buffer.from(bytes.get(resourceId) ?? '');
      return { data: whole.subarray(offset, offset + length), file: undefined };
    },
    copyFile: async ({ fromResourceId, toResourceId }) => {
      const text = bytes.get(fromResourceId) ?? '';
      bytes.set(toResourceId, text);
      const is = { copied: true, contentType: 'image/png', sizeBytes: text.length, revision: `copy-${toResourceId}` };
      return CopyFileResponse.fromPartial(is);
    },
  });
  s = await openPublishingStage([files]);
  const org = s.tenancy.org();
  const workspace = s.tenancy.workspace(org);
  boss = s.tenancy.person('Boss');
  org.roles.set(boss.userId, OrgRole.MEMBER);
  workspace.roles.set(boss.userId, WorkspaceRole.OWNER);
  workspaceId = workspace.id;
});
afterAll(() => s.stage.close());

async function file(parentId: string, name: string, contentType: string, text: string): Promise<string> {
  const id = newId();
  bytes.set(id, text);
  const is = { contentType, sizeBytes: text.length, status: 'ready' };
  const nodes = s.stage.host.client(contracts.fileNodes);
  const request = { id, revision: newId(), name, workspaceId: undefined, parentId, file: is, sourceUrl: undefined };
  await nodes.createFileNode(request, await s.stage.as(boss));
  return id;
}

/** Replaces the bytes under the same id, like an upload. */
async function replace(id: string, text: string): Promise<void> {
  bytes.set(id, text);
  const is = { contentType: 'image/png', sizeBytes: text.length, status: 'ready' };
  const request = { id, revision: newId(), file: is, bytesChanged: true, textChanged: false, actor: undefined };
  await s.stage.host.client(contracts.fileNodes).setFileState(request, await s.stage.as(undefined));
}

const document = (name: string, markdown: string) =>
  s.create(boss, { type: ResourceType.DOCUMENT, name, workspaceId, content: Buffer.from(JSON.stringify(markdown)) });

async function open(slug: string, fileId: string) {
  const address = { host: HOST, slug, proof: undefined };
  const as = await s.stage.as(undefined);
  const { file: opened } = await s.reader.openPublishedFile({ address, fileId }, as);
  const read = await s.reader.readPublishedFile({ address, fileId, offset: 0, length: 100 }, as);
  return opened === undefined ? undefined : { ...opened, text: read.data.toString() };
}

test('serves images and files of a page on the same host, if the publisher allows it', async () => {
  const page = await document('Pictures', '');
  const shot = await file(page.id, 'shot.png', 'image/png', 'PNG');
  const paper = await file(page.id, 'paper.pdf', 'application/pdf', 'PDF');
  const drawing = await file(page.id, 'drawing.svg', 'image/svg+xml', '<svg onload=x>');
  const outside = await document('Outside', '');
  const secret = await file(outside.id, 'secret.png', 'image/png', 'SECRET');
  await s.write(
    boss,
    page.id,
    `![a](resource:${shot}) ![b](resource:${secret}) ![c](resource:${drawing}) [paper](resource:${paper})`,
  );
  await s.publish(boss, page.id, { includeChildren: false });
  const { document: body, tree } = await s.page('pictures');
  expect(tree).toHaveLength(1);
  const src = /<img src="([^"]+)"/.exec(body?.html ?? '')?.[1] ?? '';
  expect(src).toMatch(new RegExp(`^/p/pictures/files/${shot}/[\\w-]{8,}/shot\\.png$`));
  expect(body?.imagePath).toBe(src);
  expect(body?.html.match(/<img/g)).toHaveLength(1);
  expect(body?.html).not.toContain(secret);
  expect(body?.html).toMatch(new RegExp(`<a href="/p/pictures/files/${paper}/[\\w-]+/paper\\.pdf"[^>]*>paper</a>`));
  expect(await open('pictures', shot)).toMatchObject({ text: 'PNG', inline: true, contentType: 'image/png' });
  expect(await open('pictures', paper)).toMatchObject({ text: 'PDF', inline: false });
  expect(await open('pictures', drawing)).toMatchObject({ inline: false });
  expect(await open('pictures', secret)).toBeUndefined();
  await replace(shot, 'PNG2');
  const after = /<img src="([^"]+)"/.exec((await s.page('pictures')).document?.html ?? '')?.[1];
  expect(after).not.toBe(src);
  await s.publish(boss, page.id, { allowDownload: false });
  expect((await s.page('pictures')).document?.html).not.toContain('paper.pdf');
  expect(await open('pictures', paper)).toBeUndefined();
  expect(await open('pictures', shot)).toMatchObject({ text: 'PNG2' });
  await s.update(boss, shot, { updateMask: ['access_mode'], accessMode: AccessMode.RESTRICTED });
  expect(await open('pictures', shot)).toBeUndefined();
  await s.unpublish(boss, page.id);
  expect(await open('pictures', paper)).toBeUndefined();
});

test('a publication may have an image of its workspace', async () => {
  const page = await document('Faced', 'x');
  const holder = await document('Holder', '');
  const cover = await file(holder.id, 'cover.png', 'image/png', 'COVER');
  const paper = await file(holder.id, 'paper.pdf', 'application/pdf', 'PDF');
  await expect(s.publish(boss, page.id, { imageFileId: paper })).rejects.toMatchObject({ reason: 'invalid_value' });
  await s.publish(boss, page.id, { imageFileId: cover });
  const { face } = await s.page('faced');
  expect(face?.imageUrl).toBe(`http://${HOST}${face?.imagePath}`);
  expect(await open('faced', cover)).toMatchObject({ text: 'COVER' });
  await s.update(boss, holder.id, { updateMask: ['access_mode'], accessMode: AccessMode.RESTRICTED });
  expect((await s.page('faced')).face?.imagePath).toBe('');
  expect(await open('faced', cover)).toBeUndefined();
});

test('pinned files keep their bytes until the item is published again', async () => {
  const page = await document('Fixed', '');
  const shot = await file(page.id, 'shot.png', 'image/png', 'OLD');
  await s.write(boss, page.id, `![a](resource:${shot})`);
  await s.publish(boss, page.id, { mode: PublicationMode.PINNED });
  const before = (await s.page('fixed')).document?.html;
  await replace(shot, 'NEW');
  expect(await open('fixed', shot)).toMatchObject({ text: 'OLD' });
  expect((await s.page('fixed')).document?.html).toBe(before);
  const nodes = s.stage.host.client(contracts.fileNodes);
  const kept = [...bytes.keys()].at(-1) as string;
  const state = { id: kept, revision: 'r', file: undefined, bytesChanged: false, textChanged: false, actor: undefined };
  expect(await nodes.setFileState(state, await s.stage.as(undefined))).toEqual({ found: true });
  await s.publish(boss, page.id);
  expect(await open('fixed', shot)).toMatchObject({ text: 'NEW' });
  expect(await nodes.setFileState(state, await s.stage.as(undefined))).toEqual({ found: false });
});

test('the pass in a frame of a protected page opens that page only, for a limited time', async () => {
  const home = await document('Vault', 'inside');
  const below = { workspaceId: undefined, parentId: home.id };
  const shot = await file(home.id, 'dial.png', 'image/png', 'PNG');
  const other = await file(home.id, 'other.png', 'image/png', 'OTHER');
  const artifact = (name: string, ...assets: { name: string; resource_id: string }[]) =>
    s.create(boss, {
      ...below,
      type: ResourceType.ARTIFACT,
      name,
      content: Buffer.from(JSON.stringify({ artifact_type: 'html', source: '<img src="dial.png">', assets })),
    });
  const dial = await artifact('Dial', { name: 'dial.png', resource_id: shot });
  const clock = await artifact('Clock');
  await s.publish(boss, home.id, { password: 'correct horse' });
  const as = await s.stage.as(undefined);
  const address = { host: HOST, slug: 'vault' };
  const { proof } = await s.reader.checkPublicationPassword(
    { address, password: 'correct horse', clientIp: '192.0.2.1' },
    as,
  );
  const pathOf = ({ name, id }: { name: string; id: string }) => `${name.toLowerCase()}-${id.slice(-12)}`;
  const read = (path: string, more: { proof?: string; pass?: string }) =>
    s.reader.readPage({ address: { ...address, ...more }, path, format: ReaderFormat.HTML, offset: 0, limit: 0 }, as);
  const opened = await read(pathOf(dial), { proof: proof?.proof });
  const again = await read(pathOf(dial), { proof: proof?.proof });
  expect(again.page?.etag).toBe(opened.page?.etag);
  const { pass = '', assets = [] } = opened.page?.artifact ?? {};
  const filePass = assets[0]?.pass ?? '';
  for (const one of [pass, filePass]) expect(one).toMatch(/^\d{10}\.[\w-]{43}$/);

  expect((await read(pathOf(dial), { pass })).page?.artifact?.source).toContain('dial.png');
  const fileOf = (fileId: string, more: { proof?: string; pass?: string }) =>
    s.reader.openPublishedFile({ address: { ...address, ...more }, fileId }, as);
  const bytesOf = async (fileId: string, given: string) => {
    const request = { address: { ...address, pass: given }, fileId, offset: 0, length: 10 };
    return (await s.reader.readPublishedFile(request, as)).data.toString();
  };
  expect((await fileOf(shot, { pass: filePass })).file?.name).toBe('dial.png');
  expect(await bytesOf(shot, filePass)).toBe('PNG');

  for (const given of [pass, filePass]) {
    for (const path of ['', pathOf(clock), pathOf(dial)].filter((path) => given !== pass || path !== pathOf(dial))) {
      expect(await read(path, { pass: given })).toMatchObject({ page: undefined, passwordRequired: {} });
    }
    expect(await read(pathOf(dial), { proof: given })).toMatchObject({ passwordRequired: {} });
    expect(await fileOf(other, { pass: given, proof: given })).toMatchObject({ file: undefined, passwordRequired: {} });
    expect(await bytesOf(other, given)).toBe('');
    const search = { address: { ...address, pass: given, proof: given }, query: 'inside', limit: 0, offset: 0 };
    expect(await s.reader.searchPublication(search, as)).toMatchObject({ pages: undefined, passwordRequired: {} });
  }
  expect(await fileOf(shot, { pass })).toMatchObject({ passwordRequired: {} });
  await s.publish(boss, home.id, { password: 'battery staple' });
  expect(await read(pathOf(dial), { pass })).toMatchObject({ passwordRequired: {} });
  expect(await fileOf(shot, { pass: filePass })).toMatchObject({ passwordRequired: {} });
  await s.publish(boss, home.id, { visibility: PublicationVisibility.PUBLIC });
  const { artifact: open } = (await read(pathOf(dial), {})).page ?? {};
  expect([open?.pass, open?.assets.map((asset) => asset.pass)]).toEqual([undefined, [undefined]]);
});

test('a pass expires', () => {
  const publication = { id: 'p', proofKey: Buffer.alloc(32, 1).toString('base64') };
  const pass = signPass(publication, 'frame a', 60, 1_000_000);
  const opens = (given: string | undefined, nowMs: number, thing: 'frame a' | 'file a' = 'frame a', id = 'p') =>
    opensBy({ ...publication, id }, thing, given, nowMs);
  expect([opens(pass, 1_000_000), opens(pass, 1_059_999), opens(pass, 1_060_000)]).toEqual([true, true, false]);
  const later = pass.replace('1060', '9060');
  expect([opens(later, 1_000_000), opens(undefined, 0), opens(pass, 1_000_000, 'file a')]).toEqual([
    false,
    false,
    false,
  ]);
  expect(opens(pass, 1_000_000, 'frame a', 'q')).toBe(false);
  expect(proofEnd(publication, pass, 1_000_000)).toBeUndefined();
});
